"""Wrong inputs of the calculator: each is refused with file, key and what is accepted."""

from typing import Any

import pytest

from services.gate.calculator import InputError, check_files
from tests.unit.gate.calculating import AT, POLICY, Desk, buy, state, working


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"now": "2022-10-03T14:30:00"}, ".now = "),
        ({"now": "2022-10-03"}, ".now = "),
        ({"now": 5}, ".now = 5"),
        ({"book": "Alpha"}, ".book: 'Alpha' is no book name"),
        ({"base_currency": "EUR"}, 'policy.base_currency = "USD": must be the currency of the book, EUR'),
        ({"cash": "NaN"}, '.cash = "NaN": must be a number'),
        ({"cash": True}, ".cash = true: must be a number"),
        ({"cash": None}, ".cash = null: must be a number"),
        ({"cash": "1_0"}, '.cash = "1_0": must be a number'),
        ({"peak": "-1"}, '.peak = "-1": must be a number'),
        ({"halt": "full"}, ".halt: must be an object"),
        ({"halt": {"kind": "reduce-only", "reason": ""}}, '.halt.kind = "reduce-only": must be "full" or "reduce_only"'),
        ({"halt": {"kind": "full"}}, ".halt: reason is missing"),
        ({"orders_used": {"month": 1}}, ".orders_used: day is missing"),
        ({"orders_used": {"month": 1.5, "day": 0}}, ".orders_used.month = 1.5: must be a whole number"),
        ({"orders_used": {"month": -1, "day": 0}}, ".orders_used.month = -1: must be a whole number"),
        ({"orders_used": {"month": "1", "day": 0}}, '.orders_used.month = "1": must be a whole number'),
        ({"holdings": {}}, ".holdings = {}: must be a list"),
        ({"holdings": [{"symbol": "AAA", "currency": "USD", "quantity": "-1"}]}, ".holdings[0].quantity = "),
        ({"holdings": [{"symbol": "AAA", "currency": "USD"}]}, ".holdings[0]: quantity is missing"),
        ({"holdings": [{"symbol": "AAA", "currency": "USD", "quantity": "1"}] * 2}, ".holdings[1]: AAA:USD is held twice"),
        ({"holdings": [{"symbol": "AAA", "currency": "USD", "shares": "1"}]}, ".holdings[0]: unknown key 'shares'"),
        ({"working": [working(side="HOLD")]}, '.working[0].side = "HOLD": must be BUY or SELL'),
        ({"working": [working(filled="6")]}, '.working[0].filled = "6": must be at most the quantity, 5'),
        ({"fx": {"aud": "1"}}, "must be a currency of three capital letters"),
        ({"fx": {"AUD": True}}, ".fx.AUD = true: must be a number"),
        (
            {"quotes": [{"symbol": "AAA", "currency": "USD", "kind": "last", "at": AT}]},
            '.quotes[0].kind = "last": must be one of live',
        ),
        ({"quotes": [{"symbol": "AAA", "currency": "USD", "kind": "sim"}]}, ".quotes[0]: at is missing"),
        ({"quotes": [{"symbol": "AAA", "currency": "USD", "kind": "sim", "at": AT}] * 2}, ".quotes[1]: AAA:USD has two quotes"),
        ({"sessions": {"SMART": {"open": "yes", "closes_at": AT}}}, '.sessions.SMART.open = "yes": must be true or false'),
        ({"sessions": {"SMART": {"open": True}}}, ".sessions.SMART: closes_at is missing"),
        ({"sessions": []}, ".sessions = []: must be an object"),
        ({"units": "1"}, "unknown key 'units'; accepted: now, book"),
        ({"cash": "1e30", "holdings": [{"symbol": "AAA", "currency": "USD", "quantity": "1e30"}]}, "amounts too large"),
    ],
)
def test_a_wrong_state_is_refused_with_its_key(desk: Desk, changes: dict[str, Any], told: str) -> None:
    message = desk.refused(state(**changes))

    assert told in message
    assert str(desk.policy if "policy." in told else desk.state) in message


@pytest.mark.parametrize(
    "key", ["now", "book", "cash", "peak", "halt", "orders_used", "holdings", "working", "fx", "quotes", "sessions"]
)
def test_a_key_that_is_missing_is_named(desk: Desk, key: str) -> None:
    given = state()
    del given[key]

    assert f"state.json: {key} is missing" in desk.refused(given)


@pytest.mark.parametrize(
    ("orders", "told"),
    [
        ({}, "must be a list of orders"),
        ([1], "[0]: must be an object, not 1"),
        ([{"currency": "USD", "side": "BUY"}], "[0]: symbol is missing"),
        ([buy(symbol=5)], "[0].symbol = 5: must be text"),
        ([buy(quantity=True)], "[0].quantity = true: must be a number"),
        ([buy(quantity=["1"])], "[0].quantity = "),
        ([buy(confidence="1.1")], '[0].confidence = "1.1": must be a number from 0 to 1'),
        ([buy(), buy(price="1")], "[1]: unknown key 'price'"),
        ("[", "not valid JSON"),
        ('[{"symbol": "AAA", "symbol": "BBB"}]', "the key 'symbol' stands twice"),
        ('[{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": NaN}]', 'write it as text, "NaN"'),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_wrong_orders_are_refused_with_their_place(desk: Desk, orders: Any, told: str) -> None:
    message = desk.refused(orders=orders)

    assert told in message
    assert str(desk.orders) in message


def test_a_wrong_policy_and_a_missing_file_are_refused(desk: Desk) -> None:
    desk.policy.write_text(POLICY.replace("max_trades_per_month = 10", "max_trades_per_month = 10.9"), "utf-8")
    assert "policy.limits.max_trades_per_month = 10.9: must be an integer" in desk.refused()
    desk.state.unlink()
    with pytest.raises(InputError, match=r"state\.json: cannot be read"):
        check_files(desk.policy, desk.state, desk.orders)
