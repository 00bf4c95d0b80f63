"""`momentum`: close[D−1] / close[D−127], the five best at 19 % each, the rest sold."""

from services.agent.sources.momentum import Momentum
from services.agent.sources.port import Close
from shared.protocol.money import Exact
from shared.protocol.reasons import StopReason
from tests.unit.agent.views import closes, usd, view

PRICES = {"AAA": "100", "BBB": "100", "CCC": "100", "DDD": "100", "EEE": "100", "FFF": "100", "GGG": "100"}


def grown(**last: str) -> dict[str, tuple[Close, ...]]:
    """History from 10 to the given last close."""
    return {symbol: closes("10", price) for symbol, price in last.items()}


ALL = grown(AAA="11", BBB="17", CCC="12", DDD="16", EEE="13", FFF="15", GGG="14")


def test_the_five_best_get_19_percent_each_and_the_rest_is_left_out() -> None:
    proposal = Momentum().propose(view(PRICES, history=ALL))

    # 10,000 × 0.19 / 100 = 19 shares; best: BBB 1.7, DDD 1.6, FFF 1.5, GGG 1.4, EEE 1.3; orders in symbol order
    assert [(order.symbol, order.side, order.quantity) for order in proposal.orders] == [
        ("BBB", "BUY", "19"),
        ("DDD", "BUY", "19"),
        ("EEE", "BUY", "19"),
        ("FFF", "BUY", "19"),
        ("GGG", "BUY", "19"),
    ]


def test_what_is_held_of_the_rest_is_sold_whole_and_the_best_are_brought_to_their_weight() -> None:
    held = {"AAA": "40", "BBB": "25", "DDD": "19", "EEE": "18.5", "FFF": "3"}

    proposal = Momentum().propose(view(PRICES, held=held, history=ALL))

    assert [(order.symbol, order.side, order.quantity) for order in proposal.orders] == [
        ("AAA", "SELL", "40"),
        ("BBB", "SELL", "6"),
        ("FFF", "BUY", "16"),
        ("GGG", "BUY", "19"),
    ]


def test_shares_are_rounded_down() -> None:
    # 1,900 / 97 = 19.58
    proposal = Momentum().propose(view(PRICES | {"BBB": "97"}, history=ALL))

    assert proposal.orders[0].quantity == "19"
    assert proposal.orders[0].limit == "97.97"


def test_equal_growth_is_ordered_by_symbol() -> None:
    tied = grown(AAA="12", BBB="12", CCC="12", DDD="12", EEE="12", FFF="12", GGG="12")

    proposal = Momentum().propose(view(dict(reversed(PRICES.items())), history=dict(reversed(tied.items()))))

    assert [order.symbol for order in proposal.orders] == ["AAA", "BBB", "CCC", "DDD", "EEE"]


def test_growth_is_compared_exactly() -> None:
    # 3/9 and 1/3 are equal, 0.3333333333333334 is a little more than both
    history = {"AAA": closes("3", "1"), "BBB": closes("9", "3"), "CCC": closes("1", "0.3333333333333334")}
    names = {"AAA": "10", "BBB": "10", "CCC": "10"}

    proposal = Momentum().propose(view(names, history=history))

    assert proposal.summary.startswith("best of 3: CCC:USD, AAA:USD, BBB:USD")


def test_the_span_runs_from_the_127th_close_before_the_session_to_the_last() -> None:
    # 128 closes: the oldest one must not count. AAA doubles over the span, BBB only if the oldest counted.
    early = Close("2022-01-01", Exact(1))
    history = {"AAA": (early, *closes("10", "20")), "BBB": (early, *closes("20", "20"))}

    proposal = Momentum().propose(view({"AAA": "10", "BBB": "10"}, history=history))

    assert proposal.summary.startswith("best of 2: AAA:USD, BBB:USD")


def test_with_126_closes_it_holds_and_says_so() -> None:
    short = {symbol: closes("10", "11", count=126) for symbol in PRICES}

    proposal = Momentum().propose(view(PRICES, held={"AAA": "5"}, history=short))

    assert proposal.orders == ()
    assert proposal.stop_reason is StopReason.HELD
    assert "not enough history: 127 closes before 2022-09-14 are needed" in proposal.summary


def test_without_any_history_it_holds_and_says_so() -> None:
    proposal = Momentum().propose(view(PRICES))

    assert proposal.stop_reason is StopReason.HELD
    assert "not enough history" in proposal.summary


def test_a_name_with_a_gap_at_either_end_of_the_span_is_left_alone_and_said() -> None:
    history = ALL | {"AAA": ALL["AAA"][1:], "CCC": ALL["CCC"][:-1]}

    proposal = Momentum().propose(view(PRICES, held={"AAA": "5", "CCC": "5"}, history=history))

    assert [order.symbol for order in proposal.orders] == ["BBB", "DDD", "EEE", "FFF", "GGG"]
    assert "left alone, no history: AAA:USD, CCC:USD" in proposal.summary


def test_with_fewer_than_five_ranked_of_many_names_it_holds() -> None:
    four = {symbol: ALL[symbol] for symbol in ("AAA", "BBB", "CCC", "DDD")}

    proposal = Momentum().propose(view(PRICES, history=four))

    assert proposal.stop_reason is StopReason.HELD
    assert "EEE:USD, FFF:USD, GGG:USD" in proposal.summary


def test_a_best_name_without_a_price_is_skipped_and_said_and_none_takes_its_place() -> None:
    proposal = Momentum().propose(view(PRICES | {"BBB": None}, history=ALL))

    assert [order.symbol for order in proposal.orders] == ["DDD", "EEE", "FFF", "GGG"]
    assert "skipped, no price known: BBB:USD" in proposal.summary


def test_history_is_asked_for_on_rebalancing_days_only() -> None:
    source = Momentum()

    assert [source.history_needed(view(PRICES, index=index)) for index in (0, 1, 2, 4, 5, 6, 7)] == [127, 127, 0, 0, 127, 127, 0]


def test_between_the_rebalancing_days_it_holds() -> None:
    assert Momentum().propose(view(PRICES, index=3, history=ALL)).stop_reason is StopReason.HELD


def test_an_unknown_value_holds() -> None:
    assert Momentum().propose(view(PRICES, value=None, history=ALL)).stop_reason is StopReason.HELD


def test_a_holding_outside_the_universe_is_sold() -> None:
    proposal = Momentum().propose(view(PRICES | {"OLD": "20"}, names=list(PRICES), held={"OLD": "7"}, history=ALL))

    assert ("OLD", "SELL", "7", "19.8") in [(order.symbol, order.side, order.quantity, order.limit) for order in proposal.orders]
    assert usd("OLD") not in proposal.summary
