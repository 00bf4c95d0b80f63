"""Builders for tests of the gate: a policy, a market and a book in which an order of the right kind passes every rule."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from services.gate.books import BookView
from services.gate.market import Market, SessionView
from services.gate.verdict import Judgement, judge
from shared.ledger.state import Halt, LedgerOrder, OrderState
from shared.protocol.events import Decision, Reason
from shared.protocol.instants import parse
from shared.protocol.market import Instrument, ProposedOrder, Quote, QuoteKind, Side
from shared.protocol.money import Exact
from shared.protocol.policy import Commission, Limits, Policy
from shared.protocol.reasons import Rule

NOW = "2022-10-03T14:30:00.000000Z"
CLOSES = "2022-10-03T20:00:00.000000Z"
RUN = "20221003T1030-alpha-1"

USD_FEES = Commission("USD", Exact("0.005"), Exact(1), Exact(1))
AUD_FEES = Commission("AUD", Exact("0.01"), Exact(5), Exact(1))
UNIVERSE = (
    Instrument("AAA", "SMART", "USD"),
    Instrument("BBB", "SMART", "USD"),
    Instrument("BRK B", "SMART", "USD"),
    Instrument("BHP", "ASX", "AUD"),
    Instrument("VOD", "LSE", "GBP"),
)
OPEN = {exchange: SessionView(True, parse(CLOSES)) for exchange in ("SMART", "ASX", "LSE")}


def policy(fees: tuple[Commission, ...] = (USD_FEES, AUD_FEES), **limits: Any) -> Policy:
    """The defaults, but for what a test states."""
    return Policy("USD", replace(Limits(), **limits), universe=UNIVERSE, commission=fees)


def quote(symbol: str = "AAA", last: str | None = "100", currency: str = "USD", at: str = NOW, **fields: Any) -> Quote:
    """A quote without bid and ask unless a test gives them."""
    kind = fields.pop("kind", QuoteKind.SIM)
    prices = {name: None if text is None else Exact(text) for name, text in {"last": last, **fields}.items()}
    return Quote(symbol, currency, kind, at, **prices)


QUOTES = (quote(), quote("BBB", "50"), quote("BRK B", "300"), quote("BHP", "40", "AUD"), quote("VOD", "1", "GBP"))


def market(
    rules: Policy,
    *quotes: Quote,
    fx: Mapping[str, str] | None = None,
    sessions: Mapping[str, SessionView] | None = None,
    at: str = NOW,
) -> Market:
    """Every name quoted, AUD at 0.65 and GBP at 1.1, all exchanges open; quotes given replace the usual ones."""
    shown = {**{row.key: row for row in QUOTES}, **{row.key: row for row in quotes}}
    rates = {"AUD": "0.65", "GBP": "1.1"} if fx is None else fx
    return Market(at, shown.values(), {name: Exact(rate) for name, rate in rates.items()}, sessions or OPEN, rules)


def book(cash: str = "10000", *working: LedgerOrder, **fields: Any) -> BookView:
    """A book of cash; `holdings` as text by key. Orders of other books go to `others`."""
    holdings = {key: Exact(shares) for key, shares in fields.pop("holdings", {}).items()}
    given: dict[str, Any] = {"others": (), "peak": Exact(fields.pop("peak", 0)), "used_month": 0, "used_day": 0}
    return BookView("alpha", Exact(cash), holdings, working, **{**given, **fields})


def working(
    side: str,
    quantity: str,
    limit: str,
    symbol: str = "AAA",
    *,
    filled: str = "0",
    name: str = "o1",
    of: str = "alpha",
    fx: str = "1",
) -> LedgerOrder:
    """An order at work in an instrument of the universe."""
    currency = next(row.currency for row in UNIVERSE if row.symbol == symbol)
    fees = AUD_FEES if currency == "AUD" else USD_FEES
    fields = (Exact(quantity), Exact(limit), Exact(fx), fees, ("2022-10", "2022-10-03"))
    return LedgerOrder(name, of, RUN, symbol, currency, Side(side), *fields, OrderState.WORKING, Exact(filled))


def order(
    side: str = "BUY",
    quantity: str | None = "1",
    limit: str | None = "100",
    symbol: str = "AAA",
    currency: str = "USD",
    exchange: str | None = None,
) -> ProposedOrder:
    """A proposed order."""
    return ProposedOrder(symbol, currency, side, quantity, limit, "because", exchange)


def judged(
    *orders: ProposedOrder,
    rules: Policy | None = None,
    on: BookView | None = None,
    seen: Market | None = None,
    run: str | None = RUN,
    untrusted: bool = False,
) -> Judgement:
    """A batch judged."""
    rules = rules or policy()
    return judge(rules, on or book(), seen or market(rules), orders, run=run, untrusted=untrusted)


def decided(proposed: ProposedOrder, **given: Any) -> Decision:
    """The decision on a batch of one."""
    return judged(proposed, **given).decisions[0]


def rules_of(decision: Decision) -> tuple[Rule, ...]:
    """The rules that block an order; an approval is empty, and the decision must say so."""
    assert decision.approved == (not decision.reasons)
    return tuple(why.rule for why in decision.reasons)


def why(decision: Decision, rule: Rule) -> Reason:
    """The reason that a rule gives."""
    return next(reason for reason in decision.reasons if reason.rule is rule)


def numbers(reason: Reason) -> tuple[str | None, str | None, str | None]:
    """Limit, value and headroom as text."""
    return (_text(reason.limit), _text(reason.value), _text(reason.headroom))


def halt(kind: str) -> Halt:
    """A halt in force."""
    return Halt(kind, "operator says so")


def _text(value: Decimal | None) -> str | None:
    return None if value is None else str(value)
