"""The exchange under a scenario: quotes, halts, closed exchanges, rates, orders and adjustments, by numbers from paper."""

import pytest

from services.simulator.account import free_cash, net_liquidation
from services.simulator.exchange import Exchange
from services.simulator.orders import Terms
from services.simulator.scenario import (
    AdjustScript,
    ClosedScript,
    FxScript,
    HaltScript,
    ListingScript,
    MarketScript,
    OrderScript,
    QuoteScript,
    Scenario,
    Script,
)
from services.simulator.scripted import Scene
from shared.protocol.market import Side
from shared.protocol.money import Exact
from tests.unit.simulator.worlds import MONDAY, TUESDAY, WEDNESDAY, Play, price_file

BARS = """
2022-10-03,A,98,101,97,100,
2022-10-03,B,20,20,20,20,
2022-10-04,A,50,52,49,51,
2022-10-04,B,20,20,20,20,
2022-10-05,A,51,53,50,52,
2022-10-05,B,20,20,20,20,
"""
CLOSES = """
2022-10-03,A,,,,100,
2022-10-04,A,,,,110,
2022-10-05,A,,,,90,
"""


def play(folder, rows: str = BARS, terms: Terms | None = None, **parts) -> Play:
    """A market under a scenario, at Tuesday's slot, with 10 shares of A that Monday brought."""
    world = Play(price_file(folder, rows), terms)
    world.exchange = Exchange(world.exchange.file, world.exchange.terms, Scenario(**parts))
    world.slot(MONDAY)
    world.buy("A", "10", "150")
    world.close(MONDAY)
    world.executions.clear()
    world.slot(TUESDAY)
    return world


def quote(world: Play, symbol: str = "A") -> tuple[str | None, ...]:
    found = Scene(world.exchange, world.state).quoted(symbol)
    return tuple(None if price is None else str(price) for price in (found.bid, found.ask, found.last, found.close))


@pytest.mark.parametrize("rows", [BARS, CLOSES])
def test_a_factor_moves_the_last_price_and_bid_and_ask_follow(tmp_path, rows):
    world = play(tmp_path, rows, quote=(QuoteScript(symbol="A", session=TUESDAY, step="slot", factor=Exact("0.5")),))
    # bars: 50 × 0.5; closes: yesterday's 100 × 0.5; bid and ask are 2 basis points away, outward
    assert quote(world) == (("24.99", "25.01", "25", "100") if rows == BARS else ("49.99", "50.01", "50", "100"))


@pytest.mark.parametrize("rows", [BARS, CLOSES])
def test_an_order_that_crosses_a_scripted_quote_fills_there_outside_the_bar_too(tmp_path, rows):
    world = play(tmp_path, rows, quote=(QuoteScript(symbol="A", session=TUESDAY, bid=Exact(30), ask=Exact(31)),))
    world.sell("A", "4", "29.70")
    world.buy("A", "1", "31.01")
    assert world.fills() == [("4", "30", "1"), ("1", "31", "0.31")]


def test_a_single_bad_tick_is_gone_at_the_next_moment(tmp_path):
    world = play(tmp_path, quote=(QuoteScript(symbol="*", session=TUESDAY, at="10:30", last=Exact(1)),))
    assert quote(world)[2] == "1"
    world.close(TUESDAY)
    assert quote(world)[2] == "51"


def test_absent_quotes_leave_yesterdays_close_alone(tmp_path):
    world = play(tmp_path, quote=(QuoteScript(symbol="A", session=TUESDAY, absent=True),))
    assert quote(world) == (None, None, None, "100")
    world.sell("A", "1", "1")
    assert world.fills() == []


def test_of_two_entries_the_last_that_holds_wins(tmp_path):
    entries = (QuoteScript(symbol="*", factor=Exact("0.5")), QuoteScript(symbol="A", session=TUESDAY, last=Exact(70)))
    world = play(tmp_path, quote=entries)
    assert (quote(world)[2], quote(world, "B")[2]) == ("70", "10")


def test_a_quote_can_say_that_it_is_older(tmp_path):
    world = play(tmp_path, quote=(QuoteScript(symbol="A", session=TUESDAY, age_s=90),))
    found = Scene(world.exchange, world.state).quoted("A")
    assert (found.at, str(found.last), found.scripted) == ("2022-10-04T14:28:30.000000Z", "50", False)


def test_a_scripted_close_alone_decides_what_rests(tmp_path):
    world = play(tmp_path, quote=(QuoteScript(symbol="A", session=TUESDAY, step="close", last=Exact(40)),))
    world.buy("A", "1", "45")  # below the day's low of 49: only the scripted close reaches it
    world.sell("A", "1", "51.5")  # within the day's bar, which does not count
    world.close(TUESDAY)
    assert world.fills() == [("1", "40", "0.4")]


def test_a_halted_name_is_not_quoted_and_nothing_of_it_is_filled(tmp_path):
    world = play(tmp_path, halt=(HaltScript(symbol="A", session=TUESDAY),))
    assert quote(world) == (None, None, None, "100")
    order = world.sell("A", "1", "40")
    world.close(TUESDAY)
    assert (order.status.value, world.orders[order.perm_id].status.value, world.fills()) == ("working", "expired", [])


def test_a_halted_name_may_still_be_quoted(tmp_path):
    world = play(tmp_path, halt=(HaltScript(symbol="A", session=TUESDAY, quoted=True),))
    assert quote(world)[2] == "50"
    world.sell("A", "1", "40")
    assert world.fills() == []


def test_one_exchange_is_closed_while_the_other_trades(tmp_path):
    world = play(
        tmp_path,
        listing=(ListingScript(("B",), exchange="ASX"),),
        closed=(ClosedScript(exchange="ASX", session=TUESDAY),),
    )
    scene = Scene(world.exchange, world.state)
    assert {name: scene.is_open(name) for name in scene.exchanges()} == {"SMART": True, "ASX": False}
    assert "the exchange is closed" in world.buy("B", "1", "25").message
    assert world.sell("A", "1", "40").status.value == "filled"
    world.slot(WEDNESDAY)
    assert world.buy("B", "1", "25").status.value == "filled"


def test_a_moved_rate_holds_for_fills_and_values_and_an_absent_one_is_not_given(tmp_path):
    world = play(
        tmp_path,
        listing=(ListingScript(("B",), currency="AUD"),),
        fx=(
            FxScript(currency="AUD", rate=Exact("0.7")),
            FxScript(currency="AUD", session=TUESDAY, rate=Exact("0.5")),
            FxScript(currency="AUD", session=WEDNESDAY, absent=True),
        ),
    )
    order = world.place(Side.BUY, "B", "10", "25", currency="AUD")
    assert (order.status.value, str(world.executions[0].fx), str(world.executions[0].price)) == ("filled", "0.5", "20")
    assert Scene(world.exchange, world.state).given_rates() == {"AUD": Exact("0.5"), "USD": Exact(1)}
    # 1,000,000 − 10 × 98.02 − 1.00 for A; then 10 × 20 + 1.00 AUD at 0.5
    assert free_cash(world.exchange, world.state) == Exact("1000000") - Exact("981.2") - Exact("100.5")
    # 10 A at 50 and 10 B at 20 AUD
    assert net_liquidation(world.exchange, world.state) == Exact("998918.3") + 500 + 100
    world.slot(WEDNESDAY)
    assert Scene(world.exchange, world.state).given_rates() == {"USD": Exact(1)}
    assert Scene(world.exchange, world.state).rates()["AUD"] == Exact("0.7")


def test_a_scripted_rejection_says_its_words_and_takes_only_its_orders(tmp_path):
    entry = OrderScript(symbol="A", side=Side.SELL, session=TUESDAY, then="reject", message="no")
    world = play(tmp_path, order=(entry,))
    assert (world.sell("A", "1", "40").status.value, world.orders[2].message) == ("rejected", "no")
    assert world.buy("A", "1", "60").status.value == "filled"


def test_an_order_left_to_rest_is_filled_with_the_scripted_shares_in_all(tmp_path):
    world = play(tmp_path, order=(OrderScript(session=TUESDAY, then="rest", shares=Exact(3)),))
    order = world.sell("A", "10", "40")
    world.close(TUESDAY)
    assert (str(world.orders[order.perm_id].filled), world.orders[order.perm_id].status.value) == ("3", "expired")


def test_an_adjustment_is_made_once(tmp_path):
    entries = (
        AdjustScript(session=TUESDAY, through="end", symbol="A", quantity=Exact(-10)),
        AdjustScript(session=TUESDAY, step="close", currency="USD", amount=Exact("12.5")),
    )
    world = play(tmp_path, adjust=entries)
    assert world.state.positions == {}
    before = world.state.cash["USD"]
    world.close(TUESDAY)
    world.slot(WEDNESDAY)
    assert world.state.positions == {}
    assert world.state.cash["USD"] - before == Exact("12.5")


def test_a_script_over_the_port_holds_from_then_on_and_over_the_file(tmp_path):
    world = play(tmp_path, quote=(QuoteScript(symbol="A", last=Exact(70)),))
    world.submit(Script(MarketScript(quote=(QuoteScript(symbol="A", last=Exact(80)),))))
    assert quote(world)[2] == "80"
