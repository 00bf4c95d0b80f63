"""The long messages, column by column, read by ib_async and by IBKR's own client: one field at a time gets another value, and
exactly the attribute that the requirement names must change. A shifted column shows at once.
"""

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from services.simulator.tws.fields import UNSET_DOUBLE, UNSET_INT, encode, split
from services.simulator.tws.order_messages import (
    WireContract,
    WireExecution,
    WireOrder,
    commission_report,
    completed_order,
    execution,
    open_order,
    order_status,
)
from shared.protocol.money import ZERO, Exact
from tests.contract.tws.columns import COMPLETED_ORDER, COMPLETED_ORDER_LINE, OPEN_ORDER, OPEN_ORDER_LINE

STRUCTURE = {"msgId", "", "numComboLegs", "numOrderComboLegs", "numSmartComboParams", "numConditions", "algoStrategy",
             "scalePriceIncrement", "hedgeType", "deltaNeutralContract present", "orderType",
             "deltaNeutralOrderType"}  # fmt: skip
"""Fields that decide which others follow; they are held by the line as a whole."""
SKIPPED_BY_IBAPI = {"eTradeOnly", "firmQuoteOnly", "nbboPriceCap"}
RENAMED = {
    "commission": "commissionAndFees",
    "minCommission": "minCommissionAndFees",
    "maxCommission": "maxCommissionAndFees",
    "commissionCurrency": "commissionAndFeesCurrency",
}
CONTRACT = WireContract(265598, "AAPL", "STK", "SMART", "USD", "AAPL", "NMS")
ORDER = WireOrder(
    4, 7, 1376327563, CONTRACT, "BUY", Exact(10), Exact(191), "DU1234567", "my-ref-1", "PreSubmitted", Exact(10), ZERO,
    Exact("190.01"), Exact("190.01"), end_time="20250312 14:13:48 US/Eastern", end_text="Filled Size: 10",
)  # fmt: skip


def line(text: str) -> list[str]:
    """The fields of a line of the requirement, in our spelling of numbers."""
    spelled = text.replace("|191.0|", "|191|").replace("|U|", f"|{UNSET_DOUBLE}|").replace("|U|", f"|{UNSET_DOUBLE}|")
    return [UNSET_INT if field == "I" else field for field in spelled[:-1].split("|")]


def read_by_ib_async(message: list[str]) -> dict[str, Any]:
    """All attributes that the library makes of an order message."""
    from ib_async.decoder import Decoder

    found: dict[str, Any] = {}

    class Wrapper:
        def openOrder(self, _order_id: int, contract: Any, order: Any, state: Any) -> None:  # noqa: N802
            found.update(flat(contract), **flat(order), **flat(state))

        def completedOrder(self, contract: Any, order: Any, state: Any) -> None:  # noqa: N802
            found.update(flat(contract), **flat(order), **flat(state))

    Decoder(Wrapper(), 178).interpret(message)  # type: ignore[arg-type]
    return found


def read_by_ibapi(message: list[str]) -> dict[str, Any]:
    """All attributes that IBKR's own client makes of an order message."""
    from ibapi.decoder import Decoder
    from ibapi.wrapper import EWrapper

    found: dict[str, Any] = {}

    class Wrapper(EWrapper):  # type: ignore[misc]
        def openOrder(self, orderId: int, contract: Any, order: Any, orderState: Any) -> None:  # noqa: N802, N803
            found.update(flat(contract), **flat(order), **flat(orderState))

        def completedOrder(self, contract: Any, order: Any, orderState: Any) -> None:  # noqa: N802, N803
            found.update(flat(contract), **flat(order), **flat(orderState))

    Decoder(Wrapper(), 178).interpret([field.encode() for field in message[1:]], int(message[0]))
    return found


def flat(value: Any) -> dict[str, Any]:
    """Attributes of an object and of the objects in it, by dotted name."""
    names = [field.name for field in fields(value)] if is_dataclass(value) else list(vars(value))
    found: dict[str, Any] = {}
    for name in names:
        inner = getattr(value, name)
        if is_dataclass(inner) or name == "softDollarTier":
            found.update({f"{name}.{key}": item for key, item in flat(inner).items()})
        else:
            found[name] = repr(inner)
    return found


def changed(read: Any, message: list[str], index: int) -> set[str]:
    """The attributes that change when one field gets a value of its own: a number if it can be one, else a text."""
    before = read(message)
    assert before, "the message as a whole was dropped"
    for other in ("1", "0", "3"):
        if message[index] == other:
            continue
        after = read([*message[:index], other, *message[index + 1 :]])
        names = {name for name in after if after[name] != before.get(name)}
        if names:
            return names
    return set()


def columns(names: tuple[str, ...]) -> list[tuple[int, str]]:
    """Every field that stands for itself; of one that comes twice readers keep the second."""
    return [(index, name) for index, name in enumerate(names) if name not in STRUCTURE and name not in names[index + 1 :]]


@pytest.mark.parametrize(("names", "text"), [(OPEN_ORDER, OPEN_ORDER_LINE), (COMPLETED_ORDER, COMPLETED_ORDER_LINE)])
def test_every_column_of_an_order_is_the_attribute_of_ib_async_that_the_requirement_names(names, text):
    message = line(text)
    assert {index: changed(read_by_ib_async, message, index) for index, _ in columns(names)} == {
        index: {name} for index, name in columns(names)
    }


@pytest.mark.parametrize(("names", "text"), [(OPEN_ORDER, OPEN_ORDER_LINE), (COMPLETED_ORDER, COMPLETED_ORDER_LINE)])
def test_every_column_of_an_order_is_the_attribute_of_ibkrs_own_client_that_the_requirement_names(names, text):
    message = line(text)
    kept = [(index, name) for index, name in columns(names) if name not in SKIPPED_BY_IBAPI]
    found = {index: changed(read_by_ibapi, message, index) for index, _ in kept}
    assert {index: {name.lower() for name in names} for index, names in found.items()} == {
        index: {RENAMED.get(name, name).lower()} for index, name in kept
    }


def test_our_open_order_is_the_line_of_the_requirement():
    assert split(encode(open_order(ORDER))) == tuple(line(OPEN_ORDER_LINE))


def test_our_completed_order_is_the_line_of_the_requirement():
    from msgspec.structs import replace

    assert split(encode(completed_order(replace(ORDER, status="Filled")))) == tuple(line(COMPLETED_ORDER_LINE))


def test_the_other_order_messages_have_the_counts_and_places_of_the_requirement():
    price = Exact("190.01")
    done = WireExecution("0000dcbf.01.01", "20251104 15:13:24 UTC", "NASDAQ", "BOT", Exact(5), price, Exact(5), price)
    assert list(split(encode(execution(ORDER, done)))) == line(
        "11|-1|4|265598|AAPL|STK||0|||NASDAQ|USD|AAPL|NMS|0000dcbf.01.01|20251104 15:13:24 UTC|DU1234567|NASDAQ|BOT|5|"
        "190.01|1376327563|7|0|5|190.01|my-ref-1||||2|0|"
    )
    assert list(split(encode(order_status(ORDER)))) == line("3|4|PreSubmitted|10|0|190.01|1376327563|0|190.01|7||0|")
    assert list(split(encode(commission_report("x.01", Exact("1.5"), "USD")))) == line("59|1|x.01|1.5|USD|U|U||")


def test_the_libraries_are_the_ones_whose_columns_these_are():
    import ib_async
    from ib_async.client import Client

    assert ib_async.__version__.startswith("2.1.")
    assert (Client.MinClientVersion, Client.MaxClientVersion) == (157, 178)
