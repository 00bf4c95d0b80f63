"""States in which the executor has to decide, written as logs."""

from collections.abc import Mapping

from services.executor.broker import Execution
from shared.ledger.state import LedgerOrder, Run
from shared.protocol.events import (
    Decision,
    MarketObserved,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrderWithheld,
    ProposalMade,
    Verdict,
)
from shared.protocol.market import ExchangeSession, Instrument, ProposedOrder, Quote, QuoteKind, Side
from shared.protocol.money import ZERO, Exact, Money
from shared.protocol.policy import Limits, Policy
from shared.protocol.reasons import OrderEnd, StopReason, Withheld
from tests.support.scribe import CLOSE, OPEN, SESSION, SLOT, USD, Scribe, decision

BUY, SELL = Side.BUY, Side.SELL
OPEN_SESSION = ExchangeSession(True, SESSION, OPEN, CLOSE)
CENT = {f"{symbol}:USD": Exact("0.01") for symbol in ("AAA", "BBB", "CCC")}
UNIVERSE = tuple(Instrument(symbol, "SMART", "USD") for symbol in ("AAA", "BBB", "CCC"))
POLICY = Policy("USD", Limits(month_timezone="America/New_York"), universe=UNIVERSE, commission=(USD,))

Wanted = tuple[str, Side, str, str]


def desk(*books: str, deposit: str = "10000", policy: Policy = POLICY) -> Scribe:
    """A desk at its slot with these books."""
    scribe = Scribe().open_desk(*books, deposit=deposit, policy=policy)
    scribe.clock("slot", SLOT, due=books)
    return scribe


def holding(scribe: Scribe, book: str, symbol: str, quantity: str, price: str, fee: str = "1") -> None:
    """Shares bought by an order of long ago."""
    scribe.fill(f"20220901T1030-{book}-1-1", f"old-{book}-{symbol}", symbol, BUY, quantity, price, fee)


def approved(
    scribe: Scribe,
    book: str,
    *orders: Wanted,
    valid_until: str = SLOT,
    sessions: Mapping[str, ExchangeSession] | None = None,
    ticks: Mapping[str, Exact] | None = None,
    crosses: str | None = None,
    kind: str = "proposal",
) -> Run:
    """A run whose orders were approved in this order, none of them sent."""
    run = scribe.start_run(book)
    proposed = tuple(ProposedOrder(symbol, "USD", side, quantity, limit) for symbol, side, quantity, limit in orders)
    scribe.write("agent", ProposalMade("scripted", proposed, "", StopReason.SUBMITTED), run, book=book, run=run)
    seen = MarketObserved(
        "verdict", (), dict(CENT if ticks is None else ticks), {}, {"SMART": OPEN_SESSION} if sessions is None else dict(sessions)
    )
    scribe.write("executor", seen, run, book=book, run=run, k=2)
    decisions = tuple(_decision(index, order, f"{run}-{index}", crosses) for index, order in enumerate(orders, 1))
    verdict = Verdict(kind, decisions, (), None, None, "p", "1", (), valid_until)
    scribe.write("gate", verdict, run, book=book, run=run)
    return scribe.state.runs[run]


def _decision(index: int, order: Wanted, order_id: str, crosses: str | None) -> Decision:
    plain = decision(index, order, order_id)
    fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
    return Decision(**{**fields, "crosses": crosses})


def intend(scribe: Scribe, order: LedgerOrder) -> None:
    """The order is about to be sent."""
    data = OrderIntended(order.id, order.symbol, "USD", "SMART", order.side, order.quantity, order.limit, order.id)
    scribe.write("executor", data, order.id, book=order.book, run=order.run)


def place(scribe: Scribe, order: LedgerOrder, status: str) -> None:
    """The broker has the order, which works or is done."""
    intend(scribe, order)
    scribe.write("executor", OrderPlaced(order.id, "1", status), order.id, book=order.book, run=order.run)


def close(scribe: Scribe, order: LedgerOrder, end: OrderEnd = OrderEnd.FILLED) -> None:
    """The order's end."""
    scribe.write("executor", OrderClosed(order.id, end, ZERO, ""), order.id, book=order.book, run=order.run)


def withhold(scribe: Scribe, order: LedgerOrder) -> None:
    """The order is not sent."""
    data = OrderWithheld(order.id, Withheld.UNFUNDED, "")
    scribe.write("executor", data, order.id, book=order.book, run=order.run)


def order_of(scribe: Scribe, run: Run, index: int) -> LedgerOrder:
    """An order as it stands now."""
    return scribe.state.runs[run.id].orders[f"{run.id}-{index}"]


def execution(
    order: str, number: int, quantity: str, price: str, *, side: Side = BUY, symbol: str = "AAA", **changes: object
) -> Execution:
    """One fill of an order at the broker, commission 1 USD."""
    fields: dict[str, object] = {
        "id": f"sim.{number}",
        "number": number,
        "permanent_id": "1",
        "reference": order,
        "symbol": symbol,
        "currency": "USD",
        "side": side,
        "quantity": Exact(quantity),
        "price": Exact(price),
        "fee": Money(Exact(1), "USD"),
        "fx": Exact(1),
    }
    return Execution(**{**fields, **changes})  # type: ignore[arg-type]


def quote(symbol: str, last: str) -> Quote:
    """A quote with a last price only."""
    return Quote(symbol, "USD", QuoteKind.SIM, SLOT, last=Exact(last))
