"""Every rule just inside its limit, at it and over it, and with what it needs unknown; `test_every_rule` runs it.

A case is what is judged and the rules that must block it. Numbers are worked out by hand; the tests of the single rules say
more about each.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from services.gate.blocks import REDUCE_ONLY
from services.gate.market import SessionView
from shared.protocol.events import Decision
from shared.protocol.instants import parse
from shared.protocol.market import QuoteKind
from shared.protocol.money import Exact
from shared.protocol.policy import Commission
from shared.protocol.reasons import Rule
from tests.unit.gate.given import AUD_FEES, book, decided, halt, market, order, policy, quote, working

ALL: Final = Exact(100)
HELD: Final = {"AAA:USD": "10"}
BHP: Final = order(quantity="10", limit="40", symbol="BHP", currency="AUD")
FLAT: Final = Commission("USD", Exact(0), Exact(1), ALL)
"""1 USD whatever the order, so that shares of it are round numbers."""

Case = tuple[Callable[[], Decision], tuple[Rule, ...]]


def passes(*args: Any, **given: Any) -> Case:
    """An order that no rule blocks."""
    return (lambda: decide(*args, **given), ())


def blocks(*rules: Rule) -> Callable[..., Case]:
    """An order that exactly these rules block, or keep back for approval."""

    def case(*args: Any, **given: Any) -> Case:
        return (lambda: decide(*args, **given), rules)

    return case


def decide(proposed: Any = None, *, quotes: tuple[Any, ...] = (), without: str = "", **given: Any) -> Decision:
    """The decision on one order; `limits` make the policy, `quotes`, `fx` and `sessions` the market, `without` a quote."""
    rules = policy(**given.pop("limits", {}))
    seen = market(rules, *quotes, **{name: given.pop(name) for name in ("fx", "sessions") if name in given})
    seen.quotes.pop(without, None)
    return decided(proposed or order(), rules=rules, seen=seen, **given)


def closing(text: str | None, *, is_open: bool = True) -> dict[str, SessionView]:
    return {"SMART": SessionView(is_open, None if text is None else parse(f"2022-10-03T{text}Z"))}


def at(text: str) -> tuple[Any, ...]:
    return (quote(at=f"2022-10-03T{text}Z"),)


def loss(start: str) -> dict[str, Any]:
    return {"limits": {"max_daily_loss_pct": Exact(5)}, "on": book("9500", day_start=Exact(start))}


def reserve(cash: str, **fields: Any) -> dict[str, Any]:
    return {"limits": {"min_cash_pct": Exact(10), "max_position_pct": ALL}, "on": book(cash, **fields)}


def rich(cash: str, **fields: Any) -> dict[str, Any]:
    return {"limits": {"max_position_pct": ALL}, "on": book(cash, holdings={"BBB:USD": "1000"}, **fields)}


def gross(shares: str) -> dict[str, Any]:
    return {"limits": {"max_gross_pct": Exact(50), "max_position_pct": ALL}, "on": book("7000", holdings={"AAA:USD": shares})}


def worth(limit: str) -> dict[str, Any]:
    return {"limits": {"max_order_notional": Exact(limit)}}


def asks(above: str) -> dict[str, Any]:
    return {"limits": {"approval_above": Exact(above)}}


TABLE: Final[dict[Rule, Mapping[str, Case]]] = {
    Rule.HALT: {"inside": passes(), "over": blocks(Rule.HALT)(on=book(halts=(halt(REDUCE_ONLY),)))},
    Rule.VALUATION: {
        "inside": passes(on=book(holdings={"BBB:USD": "1"})),
        "over": blocks(Rule.VALUATION)(on=book(holdings={"BBB:USD": "1"}), quotes=(quote("BBB", "0"),)),
        "unknown": blocks(Rule.VALUATION)(on=book(holdings={"BBB:USD": "1"}), without="BBB:USD"),
    },
    Rule.DRAWDOWN: {
        # 7500.01, 7500 and 7499.99 of a peak of 10000
        "inside": passes(on=book("7500.01", peak=10000)),
        "at": blocks(Rule.DRAWDOWN)(on=book("7500", peak=10000)),
        "over": blocks(Rule.DRAWDOWN)(on=book("7499.99", peak=10000)),
        "unknown": blocks(Rule.VALUATION)(on=book("7000", peak=10000, holdings={"BBB:USD": "1"}), without="BBB:USD"),
    },
    Rule.DAILY_LOSS: {
        # 9500 of 9999.99, 10000 and 10000.01 in the morning
        "inside": passes(**loss("9999.99")),
        "at": blocks(Rule.DAILY_LOSS)(**loss("10000")),
        "over": blocks(Rule.DAILY_LOSS)(**loss("10000.01")),
        "unknown": passes(limits={"max_daily_loss_pct": Exact(5)}, on=book("9500", day_start=None)),
    },
    Rule.RECONCILIATION: {
        "inside": passes(on=book(reconciled=True)),
        "over": blocks(Rule.RECONCILIATION)(on=book(reconciled=False)),
    },
    Rule.SIDE: {
        "inside": passes(order("buy")),
        "over": blocks(Rule.SIDE)(order("HOLD")),
        "unknown": blocks(Rule.SIDE)(order("")),
    },
    Rule.INSTRUMENT: {
        "inside": passes(order(symbol="AAA")),
        "over": blocks(Rule.INSTRUMENT)(order(symbol="ZZZZ")),
        "unknown": blocks(Rule.INSTRUMENT)(order(symbol="")),
    },
    Rule.EXCHANGE: {
        "inside": passes(order(exchange="smart")),
        "over": blocks(Rule.EXCHANGE)(order(exchange="NYSE")),
        "unknown": passes(order(exchange=None)),
    },
    Rule.FINITE: {
        "inside": passes(order(limit="100")),
        "over": blocks(Rule.FINITE)(order(limit="Infinity")),
        "unknown": blocks(Rule.FINITE)(order(limit="NaN")),
    },
    Rule.QUANTITY: {
        "inside": passes(order(quantity="1")),
        "at": blocks(Rule.QUANTITY)(order(quantity="0")),
        "over": blocks(Rule.QUANTITY)(order(quantity="-1")),
        "unknown": blocks(Rule.QUANTITY)(order(quantity=None)),
    },
    Rule.WHOLE_SHARES: {
        "inside": passes(order(quantity="4")),
        "at": passes(order(quantity="4.0")),
        "over": blocks(Rule.WHOLE_SHARES)(order(quantity="4.00000001")),
        "unknown": blocks(Rule.QUANTITY)(order(quantity=None)),
    },
    Rule.LIMIT_PRICE: {
        "inside": passes(order(limit="0.01"), quotes=(quote(last="0.01"),), limits={"max_commission_pct": ALL, "fees": (FLAT,)}),
        "at": blocks(Rule.LIMIT_PRICE)(order(limit="0")),
        "over": blocks(Rule.LIMIT_PRICE)(order(limit="-0.01")),
        "unknown": blocks(Rule.LIMIT_PRICE)(order(limit=None)),
    },
    Rule.QUOTE: {
        "inside": passes(quotes=(quote(last="100"),)),
        "over": blocks(Rule.QUOTE)(quotes=(quote(last="0"),)),
        "unknown": blocks(Rule.QUOTE)(without="AAA:USD"),
    },
    Rule.QUOTE_AGE: {
        # 1200 s pass, judged at 14:30
        "inside": passes(quotes=at("14:10:00.000001")),
        "at": passes(quotes=at("14:10:00.000000")),
        "over": blocks(Rule.QUOTE_AGE)(quotes=at("14:09:59.999999")),
        "unknown": blocks(Rule.QUOTE)(without="AAA:USD"),
    },
    Rule.QUOTE_KIND: {
        "inside": passes(quotes=(quote(kind=QuoteKind.DELAYED),)),
        "over": blocks(Rule.QUOTE_KIND)(quotes=(quote(kind=QuoteKind.FROZEN),)),
        "unknown": blocks(Rule.QUOTE)(without="AAA:USD"),
    },
    Rule.FX: {
        "inside": passes(BHP, fx={"AUD": "0.65"}),
        "over": blocks(Rule.FX)(BHP, fx={"AUD": "0"}),
        "unknown": blocks(Rule.FX)(BHP, fx={}),
    },
    Rule.COMMISSION: {
        "inside": passes(),
        "over": blocks(Rule.COMMISSION)(limits={"fees": (AUD_FEES,)}),
        "unknown": blocks(Rule.COMMISSION)(limits={"fees": ()}),
    },
    Rule.CURRENCY: {
        "inside": passes(BHP, limits={"foreign_currency": "deny"}, on=book(currencies=("AUD",))),
        "over": blocks(Rule.CURRENCY)(BHP, limits={"foreign_currency": "deny"}, on=book(currencies=("USD",))),
        "unknown": blocks(Rule.CURRENCY)(BHP, limits={"foreign_currency": "deny"}, on=book(currencies=None)),
    },
    Rule.SESSION: {
        "inside": passes(sessions=closing("14:45:00.000001")),
        "at": passes(sessions=closing("14:45:00.000000")),
        "over": blocks(Rule.SESSION)(sessions=closing("14:44:59.999999")),
        "unknown": blocks(Rule.SESSION)(sessions=closing(None)),
    },
    Rule.PRICE_COLLAR: {
        "inside": passes(order(limit="101.99")),
        "at": passes(order(limit="102")),
        "over": blocks(Rule.PRICE_COLLAR)(order(limit="102.00000001")),
        "unknown": blocks(Rule.QUOTE)(order(limit="500"), without="AAA:USD"),
    },
    Rule.MONTHLY_ORDERS: {
        "inside": passes(on=book(used_month=8)),
        "at": passes(on=book(used_month=9)),
        "over": blocks(Rule.MONTHLY_ORDERS)(on=book(used_month=10)),
    },
    Rule.DAILY_ORDERS: {
        "inside": passes(limits={"max_orders_per_day": 3}, on=book(used_day=1)),
        "at": passes(limits={"max_orders_per_day": 3}, on=book(used_day=2)),
        "over": blocks(Rule.DAILY_ORDERS)(limits={"max_orders_per_day": 3}, on=book(used_day=3)),
    },
    Rule.COMMISSION_SHARE: {
        # 1 of 10.01, 10 and 9.99
        "inside": passes(order(limit="10.01"), quotes=(quote(last="10"),), limits={"fees": (FLAT,)}),
        "at": passes(order(limit="10"), quotes=(quote(last="10"),), limits={"fees": (FLAT,)}),
        "over": blocks(Rule.COMMISSION_SHARE)(order(limit="9.99"), quotes=(quote(last="10"),), limits={"fees": (FLAT,)}),
        "unknown": blocks(Rule.COMMISSION)(order(limit="9.99"), quotes=(quote(last="10"),), limits={"fees": ()}),
    },
    Rule.HOLDING: {
        "inside": passes(order("SELL", "9"), on=book(holdings=HELD)),
        "at": passes(order("SELL", "10"), on=book(holdings=HELD)),
        "over": blocks(Rule.HOLDING)(order("SELL", "11"), on=book(holdings=HELD)),
        "unknown": blocks(Rule.HOLDING)(order("SELL", "1"), on=book()),
    },
    Rule.CASH: {
        # 10 × 100 + 1
        "inside": passes(order(quantity="10"), **rich("1001.01")),
        "at": passes(order(quantity="10"), **rich("1001")),
        "over": blocks(Rule.CASH)(order(quantity="10"), **rich("1000.99")),
        "unknown": blocks(Rule.CASH)(order(quantity="10"), **rich("5000", reserves=False)),
    },
    Rule.CASH_RESERVE: {
        # 9890 − (89 × 100 + 1) is 10 % of 9890
        "inside": passes(order(quantity="89"), **reserve("9890.01")),
        "at": passes(order(quantity="89"), **reserve("9890")),
        "over": blocks(Rule.CASH_RESERVE)(order(quantity="89"), **reserve("9889.99")),
        "unknown": blocks(Rule.CASH)(order(quantity="89"), **reserve("9889.99", reserves=False)),
    },
    Rule.POSITION: {
        # 25 × 100 is 25 % of 10001 − 1
        "inside": passes(order(quantity="25"), on=book("10001.01")),
        "at": passes(order(quantity="25"), on=book("10001")),
        "over": blocks(Rule.POSITION)(order(quantity="25"), on=book("10000.99")),
        "unknown": blocks(Rule.QUOTE)(order(quantity="25"), on=book("10000"), without="AAA:USD"),
    },
    Rule.ORDER_NOTIONAL: {
        "inside": passes(order(quantity="10"), **worth("1000.01")),
        "at": passes(order(quantity="10"), **worth("1000")),
        "over": blocks(Rule.ORDER_NOTIONAL)(order(quantity="10"), **worth("999.99")),
        "unknown": blocks(Rule.QUOTE)(order(quantity="10"), without="AAA:USD", **worth("999.99")),
    },
    Rule.GROSS_EXPOSURE: {
        # 30 × 100 held of 10000: 20 more shares are 50 %
        "inside": passes(order(quantity="19"), **gross("30")),
        "at": passes(order(quantity="20"), **gross("30")),
        "over": blocks(Rule.GROSS_EXPOSURE)(order(quantity="21"), **gross("30")),
        "unknown": blocks(Rule.VALUATION)(order(quantity="21"), without="BBB:USD", on=book(holdings={"BBB:USD": "1"})),
    },
    Rule.DUPLICATE: {
        "inside": passes(order(limit="99.01"), on=book("10000", working("BUY", "1", "99"))),
        "over": blocks(Rule.DUPLICATE)(order(limit="99"), on=book("10000", working("BUY", "1", "99"))),
    },
    Rule.SELF_TRADE: {
        "inside": passes(order(limit="100.99"), on=book(others=(working("SELL", "1", "101", of="beta"),))),
        "at": blocks(Rule.SELF_TRADE)(order(limit="101"), on=book(others=(working("SELL", "1", "101", of="beta"),))),
        "over": blocks(Rule.SELF_TRADE)(order(limit="101.01"), on=book(others=(working("SELL", "1", "101", of="beta"),))),
    },
    Rule.APPROVAL: {
        "inside": passes(order(quantity="10"), **asks("1000.01")),
        "at": passes(order(quantity="10"), **asks("1000")),
        "over": blocks(Rule.APPROVAL)(order(quantity="10"), **asks("999.99")),
        "unknown": blocks(Rule.FX)(BHP, fx={}, **asks("1")),
    },
    Rule.UNTRUSTED: {
        "inside": passes(limits={"untrusted": "deny"}, untrusted=False),
        "over": blocks(Rule.UNTRUSTED)(limits={"untrusted": "deny"}, untrusted=True),
    },
}  # fmt: skip

NEVER_UNKNOWN: Final = {
    Rule.HALT: "a halt is in the ledger or there is none",
    Rule.RECONCILIATION: "agreed or not; not known is not agreed",
    Rule.MONTHLY_ORDERS: "counts are the ledger's own",
    Rule.DAILY_ORDERS: "counts are the ledger's own",
    Rule.DUPLICATE: "orders at work are the ledger's own",
    Rule.SELF_TRADE: "orders at work are the ledger's own",
    Rule.UNTRUSTED: "a proposal carries the mark or does not",
}
