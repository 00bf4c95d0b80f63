"""Liquidation: one SELL per holding, limited a little below the reference price so that it fills. Pure."""

from collections.abc import Container, Iterable, Mapping
from decimal import ROUND_FLOOR, Decimal
from typing import Final

import msgspec

from services.gate.batch import Batch
from services.gate.blocks import named
from services.gate.books import BookView
from services.gate.candidate import Candidate
from services.gate.market import Market
from services.gate.numbers import HUNDRED, NOTHING, ONE, amount, exact_arithmetic
from services.gate.rules import EVIDENCE, FIRST, RuleCheck
from services.gate.rules.account import crossed_buy
from services.gate.rules.limits import holding
from services.gate.rules.reasons import reason
from services.gate.valuation import value_book
from services.gate.verdict import Judgement, decision_on, judgement
from shared.ledger.state import Sale
from shared.protocol.events import Decision, Reason
from shared.protocol.ids import MAX_ORDERS, order_id
from shared.protocol.market import ProposedOrder, Side, split_key
from shared.protocol.money import ZERO, Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import Rule

FIRST_PCT: Final = Decimal(1)
"""How far below the reference the first attempt of an exchange day goes, and how much lower each one after an unfilled one."""
MOST_COLLARS: Final = 5
"""It widens up to this many times the price collar."""


class Exit(msgspec.Struct, frozen=True):
    """One holding to sell: whole shares that no order at work sells, as the ledger has it, and as the broker does.

    `at_broker` is None while the broker's position is not known. `unfilled` counts attempts of the day that left some.
    """

    key: str
    in_ledger: Exact
    at_broker: Exact | None
    unfilled: int

    @property
    def shares(self) -> Exact:
        """What can be sold: the smaller of the two; 0 if it is not known."""
        return ZERO if self.at_broker is None else max(ZERO, min(self.in_ledger, self.at_broker))


def exits_of(
    holdings: Mapping[str, Decimal],
    pending: Mapping[str, Decimal],
    pending_all: Mapping[str, Decimal],
    positions: Mapping[str, Decimal] | None,
    baseline: Mapping[str, Decimal],
    unfilled: Mapping[str, int],
) -> tuple[Exit, ...]:
    """Holdings of which a whole share is left to sell, by key, at most 99 of them.

    `pending` are shares that this book's SELLs at work stand for, `pending_all` those of all books. Of the broker's position
    what belongs to no book stays. A fraction is dust and counts as flat.
    """
    found = []
    for key in sorted(holdings):
        left = whole(holdings[key] - pending.get(key, NOTHING))
        if left < 1:
            continue
        at_broker = None
        if positions is not None:
            others = baseline.get(key, NOTHING) + pending_all.get(key, NOTHING)
            at_broker = whole(positions.get(key, NOTHING) - others)
        found.append(Exit(key, left, at_broker, unfilled.get(key, 0)))
    return tuple(found[:MAX_ORDERS])


def whole(shares: Decimal) -> Exact:
    """The whole shares of a quantity, rounded down."""
    return Exact(shares.to_integral_value(rounding=ROUND_FLOOR))


def exit_limit(reference: Decimal, tick: Decimal, unfilled: int, collar_pct: Decimal) -> Exact:
    """1 % below the reference and 1 % more per unfilled attempt, up to five collars; down to the tick, at least one tick."""
    pct = max(FIRST_PCT, min(FIRST_PCT * (unfilled + 1), collar_pct * MOST_COLLARS))
    ticks = reference * (HUNDRED - pct) / HUNDRED // tick
    return Exact(max(ticks, ONE) * tick)


def liquidate(
    policy: Policy, book: BookView, market: Market, exits: Iterable[Exit], ticks: Mapping[str, Decimal], run: str
) -> Judgement:
    """Judge one SELL per exit by identity, form, evidence and `holding`; limits, duplicates and approval do not count here.

    A holding without price or rate is blocked and the others are sold. A working BUY that a SELL would cross is named.
    """
    with exact_arithmetic():
        batch = Batch(policy, book, market, value_book(book.cash, book.holdings, market), untrusted=False)
        decisions = tuple(_decided(batch, exit_, index, ticks, run) for index, exit_ in enumerate(exits, 1))
        return judgement(batch, None, decisions)


def _decided(batch: Batch, exit_: Exit, index: int, ticks: Mapping[str, Decimal], run: str) -> Decision:
    """Judge one SELL and, if it is approved, apply it."""
    order = batch.candidate(index, _proposed(batch, exit_, ticks))
    why = tuple(_against(order, batch, exit_))
    if why:
        return decision_on(order, why, largest=ZERO)
    crossed = crossed_buy(order, batch)
    name = order_id(run, index)
    batch.apply(order, name)
    return decision_on(order, (), approved=True, name=name, crosses=crossed.id if crossed else None)


def _proposed(batch: Batch, exit_: Exit, ticks: Mapping[str, Decimal]) -> ProposedOrder:
    """The SELL; without a reference price or a tick it has no limit."""
    symbol, currency = split_key(exit_.key)
    reference, tick = batch.market.price(exit_.key), ticks.get(exit_.key)
    limit = None
    if reference is not None and tick is not None and tick > NOTHING:
        limit = str(exit_limit(reference, tick, exit_.unfilled, batch.limits.max_price_deviation_pct))
    return ProposedOrder(symbol, currency, Side.SELL.value, str(exit_.shares), limit)


def _against(order: Candidate, batch: Batch, exit_: Exit) -> list[Reason]:
    """What stands against a SELL: the broker's position, else identity and form, else evidence and `holding`.

    Without a price the order has no limit, and so no fee, for that reason alone.
    """
    if exit_.shares < 1:
        return [_not_at_broker(exit_)]
    unpriced = order.price is None
    found = _failing(order, batch, FIRST, {Rule.LIMIT_PRICE} if unpriced else set())
    fee_known = unpriced and order.schedule is not None
    return found or _failing(order, batch, (*EVIDENCE, holding), {Rule.COMMISSION} if fee_known else set())


def _failing(order: Candidate, batch: Batch, rules: Iterable[RuleCheck], but: Container[Rule]) -> list[Reason]:
    """The reasons that rules give, but for some of them."""
    return [found for rule in rules if (found := rule(order, batch)) is not None and found.rule not in but]


def _not_at_broker(exit_: Exit) -> Reason:
    """The broker does not have the shares, or it is not known whether it does."""
    if exit_.at_broker is None:
        return reason(Rule.HOLDING, f"the broker's position in {named((exit_.key,))} is not known", None, exit_.in_ledger)
    told = f"{exit_.in_ledger} of {exit_.key} in the book, the broker has {amount(exit_.at_broker)} to sell"
    return reason(Rule.HOLDING, told, exit_.at_broker, exit_.in_ledger)


def unfilled_on(sale: Sale | None, day: str) -> dict[str, int]:
    """Attempts of an exchange day that left something unfilled, by instrument key."""
    return {key: count.within(day) for key, count in sale.unfilled.items()} if sale else {}
