"""The judging function: one for check, verdict and calculator."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from services.gate.batch import Batch
from services.gate.blocks import FULL, Block, block_of
from services.gate.books import BookView
from services.gate.candidate import Candidate
from services.gate.largest import largest_passing
from services.gate.market import Market
from services.gate.numbers import amount, exact_arithmetic
from services.gate.rules import EVIDENCE, FIRST, LAST, approval
from services.gate.rules.account import crossed_buy
from services.gate.valuation import drawdown_pct, value_book
from shared.protocol.events import Decision, Reason
from shared.protocol.ids import order_id
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import ZERO, Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import Rule

_OF_THE_QUOTE: Final = frozenset({Rule.QUOTE, Rule.QUOTE_AGE, Rule.QUOTE_KIND})


class After(msgspec.Struct, frozen=True):
    """The simulated book after the batch: cash in base currency, shares by instrument key, orders used."""

    cash: Exact
    holdings: dict[str, Exact]
    used_month: int
    used_day: int


class Judgement(NamedTuple):
    """A batch judged: decisions in the order judged, what blocks the whole of it, the book's value before, and the batch."""

    decisions: tuple[Decision, ...]
    block: Block | None
    value: Exact | None
    drawdown_pct: Exact | None
    batch: Batch

    def after(self) -> After:
        """The simulated book at the end of the batch."""
        return _after(self.batch)

    def first_close(self) -> datetime | None:
        """The earliest close of an exchange that an approved order goes to."""
        return _first_close(self.batch)


def judge(
    policy: Policy,
    book: BookView,
    market: Market,
    proposed: Sequence[ProposedOrder],
    *,
    run: str | None = None,
    untrusted: bool = False,
    agreed: bool = False,
) -> Judgement:
    """Judge `proposed` on a copy of the book, SELLs first; approved orders of a `run` get their ids.

    `agreed`: a person has approved them, so none needs approval. Raises `IdError` for an approved order of a run beyond the 99th.
    """
    with exact_arithmetic():
        valuation = value_book(book.cash, book.holdings, market)
        batch = Batch(policy, book, market, valuation, untrusted)
        block = block_of(policy, book, valuation)
        orders = [batch.candidate(index, order) for index, order in enumerate(proposed, 1)]
        orders.sort(key=_sells_first)
        decisions = tuple(_decide(order, batch, block, run, agreed) for order in orders)
        return judgement(batch, block, decisions)


def judgement(batch: Batch, block: Block | None, decisions: tuple[Decision, ...]) -> Judgement:
    """A batch judged. Call it inside exact arithmetic."""
    value = batch.value
    return Judgement(
        decisions=decisions,
        block=block,
        value=None if value is None else amount(value),
        drawdown_pct=None if value is None else drawdown_pct(value, batch.book.peak),
        batch=batch,
    )


def reasons_against(order: Candidate, batch: Batch) -> list[Reason]:
    """Why the order is blocked, empty if it is not: identity and form, then evidence, then limits and account.

    Limits that need what evidence found missing skip themselves: the price is taken away where its quote is not good enough.
    """
    found = [why for rule in FIRST if (why := rule(order, batch)) is not None]
    if found:
        return found
    found = [why for rule in EVIDENCE if (why := rule(order, batch)) is not None]
    if any(why.rule in _OF_THE_QUOTE for why in found):
        order.price = None
    found += [why for rule in LAST if (why := rule(order, batch)) is not None]
    return found


def _sells_first(order: Candidate) -> bool:
    """Sort key: SELLs before everything else, else the proposal's order."""
    return order.side is not Side.SELL


def _decide(order: Candidate, batch: Batch, block: Block | None, run: str | None, agreed: bool) -> Decision:
    """Judge one order against the simulated book and, if it is approved, apply it."""
    if block is not None and (block.kind == FULL or order.buys):
        return decision_on(order, block.reasons, largest=ZERO)
    why = reasons_against(order, batch)
    if why:
        return decision_on(order, tuple(why), largest=largest_passing(order, batch, why, reasons_against))
    asked = () if agreed else approval.needed(order, batch)
    if asked:
        return decision_on(order, asked, needs_approval=True)
    crossed = crossed_buy(order, batch)
    name = order_id(run, order.index) if run else None
    batch.apply(order, name or f"order {order.index} of this batch")
    return decision_on(order, (), approved=True, name=name, crosses=crossed.id if crossed else None)


def decision_on(
    order: Candidate,
    why: tuple[Reason, ...],
    *,
    approved: bool = False,
    needs_approval: bool = False,
    largest: Exact | None = None,
    name: str | None = None,
    crosses: str | None = None,
) -> Decision:
    """The decision as it stands in the verdict."""
    return Decision(
        index=order.index,
        symbol=order.symbol,
        currency=order.currency,
        side=order.side.value if order.side else order.side_text,
        quantity=order.quantity,
        limit=order.limit,
        approved=approved,
        needs_approval=needs_approval,
        notional=None if order.notional is None else amount(order.notional),
        commission=None if order.commission is None else amount(order.commission),
        fx=order.fx,
        reasons=why,
        largest=largest,
        order=name,
        crosses=crosses,
    )


def _after(batch: Batch) -> After:
    """The book with every approved order carried out."""
    keys = sorted({*batch.book.holdings, *(order.key for order in batch.approved)})
    with exact_arithmetic():
        left = {key: amount(shares) for key in keys if (shares := batch.held(key))}
        return After(amount(batch.cash), left, batch.used_month, batch.used_day)


def _first_close(batch: Batch) -> datetime | None:
    """The earliest close among the exchanges of the approved orders."""
    sessions = (batch.market.sessions.get(order.exchange.upper()) for order in batch.approved if order.exchange)
    return min((row.closes_at for row in sessions if row is not None and row.closes_at is not None), default=None)
