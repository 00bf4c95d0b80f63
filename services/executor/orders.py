"""Which approved order is sent next, which is withheld and why, which waits. Pure: read off the folded state alone."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import msgspec

from shared.ledger.owed import sending_order
from shared.ledger.reservations import reserved_by
from shared.ledger.state import FULL, LIQUIDATION, Book, Halt, LedgerOrder, OrderState, Run, State, halts_of
from shared.protocol.events import MarketObserved, ProposalMade, Verdict
from shared.protocol.market import Side
from shared.protocol.money import Exact, tick_down, tick_up, wide_context
from shared.protocol.reasons import Withheld

IN_FLIGHT: Final = (OrderState.INTENDED, OrderState.DONE)
"""Sent or about to be, its immediate result not yet in the log."""


class Send(msgspec.Struct, frozen=True):
    """Send this order to `exchange` now, with `limit` on the market's tick."""

    order: LedgerOrder
    exchange: str
    limit: Exact


class Withhold(msgspec.Struct, frozen=True):
    """Do not send this order, and why."""

    order: LedgerOrder
    reason: Withheld
    message: str


class CancelFirst(msgspec.Struct, frozen=True):
    """An exit beats an entry: end this working BUY before the SELL that crosses it is sent."""

    order: LedgerOrder


class Hold(msgspec.Struct, frozen=True):
    """Nothing to send before an order that is in flight has its result in the log, or nothing at all."""


SendDecision = Send | Withhold | CancelFirst | Hold


def next_to_send(state: State, run: Run) -> SendDecision:
    """What to do next with the approved orders of `run` that were not sent yet.

    What must not be sent is withheld first. Then SELLs, one after another, then at once every BUY that cash less the
    reservations of orders sent covers. The other BUYs wait until no order of the book is in flight (every SELL of the batch has
    then ended or rests at the broker); what cash then does not cover is withheld as `unfunded`.
    """
    unsent = sorted((order for order in run.orders.values() if order.state is OrderState.APPROVED), key=sending_order)
    ready: list[Send] = []
    for order in unsent:
        decision = qualified(state, run, order)
        if isinstance(decision, Withhold):
            return decision
        ready.append(decision)
    if not ready:
        return Hold()
    return _sell(state, run, ready[0]) if ready[0].order.side is Side.SELL else _buy(state.books[run.book], ready)


def qualified(state: State, run: Run, order: LedgerOrder) -> Send | Withhold:
    """How to send an order that the broker does not have, or what stands against it whatever the cash."""
    if order.cancel:
        return Withhold(order, Withheld.CANCELLED, "cancelled before it was sent")
    if (halt := _halt(state, run, order)) is not None:
        return Withhold(order, Withheld.HALT, f"{halt.kind} halt: {halt.reason}")
    if (stale := _stale(state, run)) is not None:
        return Withhold(order, Withheld.STALE, stale)
    exchange = exchange_of(state, run, order)
    if exchange is None:
        return Withhold(order, Withheld.UNQUALIFIED, f"no exchange is known for {order.key}")
    if (closed := _closed(state, run, exchange)) is not None:
        return Withhold(order, Withheld.CLOSED, closed)
    limit = limit_on_tick(run, order)
    if limit is None or limit <= 0:
        return Withhold(order, Withheld.NO_TICK, f"{order.limit} is no price of {order.key} on a known tick")
    if (met := _own_sell(state, order, limit)) is not None:
        return Withhold(order, Withheld.SELF_TRADE, f"it would trade with our own SELL {met.id} at {met.limit}")
    return Send(order, exchange, limit)


def limit_on_tick(run: Run, order: LedgerOrder) -> Exact | None:
    """The limit on the tick of the evidence, never worse than approved: a BUY's down, a SELL's up. None: no tick is known."""
    tick = run.evidence.expect(MarketObserved).ticks.get(order.key) if run.evidence else None
    if tick is None or tick <= 0:
        return None
    return tick_down(order.limit, tick) if order.side is Side.BUY else tick_up(order.limit, tick)


def exchange_of(state: State, run: Run, order: LedgerOrder) -> str | None:
    """Where the order goes: the universe's exchange; of a held share that left it the one where it was bought, or proposed."""
    row = state.policy.policy.instrument(order.key) if state.policy else None
    if row is not None:
        return row.exchange
    holding = state.books[order.book].holdings.get(order.key)
    if holding is not None and holding.exchange is not None:
        return holding.exchange
    if run.approval is not None:
        return run.approval.exchange
    proposed = run.proposal.expect(ProposalMade).orders if run.proposal else ()
    return proposed[order.index - 1].exchange if order.index <= len(proposed) else None


def _halt(state: State, run: Run, order: LedgerOrder) -> Halt | None:
    """The halt that stops this order: one that came after its approval, for good, else one in force.

    Of those a full one stops every order but a liquidation's, a reduce-only one BUYs.
    """
    if order.halt is not None or run.kind == LIQUIDATION:
        return order.halt
    return next((halt for halt in halts_of(state, state.books[order.book]) if halt.kind == FULL or order.side is Side.BUY), None)


def _own_sell(state: State, buy: LedgerOrder, limit: Exact) -> LedgerOrder | None:
    """A SELL of any book, sent and not ended, that a BUY would trade with: an exit that came after the BUY was approved."""
    if buy.side is not Side.BUY:
        return None
    orders = (order for book in state.books.values() for order in book.orders.values() if order.key == buy.key)
    sent = (order for order in orders if order.side is Side.SELL and order.state in {OrderState.INTENDED, OrderState.WORKING})
    return next((order for order in sent if order.limit <= limit), None)


def _stale(state: State, run: Run) -> str | None:
    """Says so if the verdict's time is over; the last valid moment still passes."""
    until = run.verdict.expect(Verdict).valid_until if run.verdict else None
    if until is not None and state.now is not None and state.now <= until:
        return None
    return f"the verdict was valid until {until}, now is {state.now}"


def _closed(state: State, run: Run, exchange: str) -> str | None:
    """Says so if the verdict's evidence does not show the exchange open; unknown counts as closed."""
    session = run.evidence.expect(MarketObserved).sessions.get(exchange) if run.evidence else None
    if session is None:
        return f"it is not known whether {exchange} is open"
    if session.open and state.now is not None and state.now < session.closes_at:
        return None
    return f"{exchange} is closed"


def _sell(state: State, run: Run, decision: Send) -> SendDecision:
    """Send a SELL once no BUY at the broker would trade with it."""
    crossed = _crossed(state, run, decision.order)
    if crossed is None:
        return decision
    return CancelFirst(crossed) if crossed.state is OrderState.WORKING else Hold()


def _crossed(state: State, run: Run, sell: LedgerOrder) -> LedgerOrder | None:
    """The first BUY that was sent and not ended and that the verdict names or the SELL's limit meets; equal prices cross."""
    decisions = run.verdict.expect(Verdict).decisions if run.verdict else ()
    named = next((decision.crosses for decision in decisions if decision.order == sell.id), None)
    sent = (order for book in state.books.values() for order in book.orders.values() if order.state is not OrderState.APPROVED)
    buys = (order for order in sent if order.side is Side.BUY and order.key == sell.key)
    return next((order for order in buys if order.id == named or order.limit >= sell.limit), None)


def _buy(book: Book, ready: Sequence[Send]) -> SendDecision:
    """Send the first BUY that is covered; else wait for what is in flight, or withhold the first as unfunded."""
    free = uncommitted_cash(book)
    for decision in ready:
        if decision.order.schedule is not None and reserved_by(decision.order) <= free:
            return decision
    if any(order.state in IN_FLIGHT for order in book.orders.values()):
        return Hold()
    first = ready[0].order
    needs = reserved_by(first) if first.schedule is not None else "an unknown amount of"
    return Withhold(first, Withheld.UNFUNDED, f"needs {needs} {book.currency}, {free} is there")


def uncommitted_cash(book: Book) -> Exact:
    """Ledger cash less the reservations of orders already sent; approved orders that wait hold nothing back here."""
    sent = (order for order in book.orders.values() if order.state is not OrderState.APPROVED)
    with wide_context():
        return Exact(book.cash - sum((reserved_by(order) for order in sent), Decimal(0)))
