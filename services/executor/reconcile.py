"""Whether the broker's account is what the ledgers of all books add up to. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from services.executor.broker import BrokerOrder, Execution
from services.executor.fills import unsettled
from shared.ledger.state import LedgerOrder, OrderState, State
from shared.protocol.envelope import clean_text
from shared.protocol.events import AccountReconciled, Difference, ReconciliationFailed
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, rounded, wide_context
from shared.protocol.policy import Limits

MAX_DIFFERENCES: Final = 100
MAX_DIFFERENCE_CHARS: Final = 200
NONE: Final = "none"
HUNDRED: Final = Exact(100)
CENTS: Final = 2
LOG_LOST: Final = "desk time"


class Picture(msgspec.Struct, frozen=True):
    """The broker's account at one time. None: that question has no complete answer, which is not an empty one.

    `cash` per currency, `positions` by instrument key, `open_orders` those still working, `executions` all that belong to orders
    which are open in the ledger, in the broker's order. `rates`: base units per unit of a currency, `net_liquidation` in base.
    """

    account: str | None
    cash: dict[str, Exact] | None
    positions: dict[str, Exact] | None
    open_orders: tuple[BrokerOrder, ...] | None
    executions: tuple[Execution, ...] | None
    rates: dict[str, Exact] = {}
    net_liquidation: Exact | None = None


def reconcile(state: State, picture: Picture) -> AccountReconciled | ReconciliationFailed:
    """Compare ledgers and broker: every instrument exactly, open orders by reference, cash within the policy's tolerance.

    Executions that the log lacks are added to the ledgers' side. The first reconciliation takes the broker's cash as the start.
    What an order at the broker can explain is pending. Cash that nothing explains while all shares and orders agree is listed
    and in no book; it fails only when there is too much of it.
    """
    account, cash, positions, open_orders = picture.account, picture.cash, picture.positions, picture.open_orders
    if account is None or cash is None or positions is None or open_orders is None or picture.executions is None:
        return ReconciliationFailed(account, tuple(_unanswered(picture)), cash, positions)
    booked = tuple(e for order in sent_orders(state) for e in unsettled(order, picture.executions))
    differing = _differing(expected_positions(state, booked), positions)
    pending = pending_orders(state, booked, differing)
    unexplained = {key: pair for key, pair in differing.items() if key not in {order.key for order in pending}}
    money = _differing_cash(expected_cash(state, booked), cash, _limits(state).cash_tolerance)
    awaited = _awaited(money, pending)
    rest = {currency: amount for currency, amount in money.items() if currency not in awaited}
    hard = (*_position_lines(unexplained), *_order_differences(state, open_orders))
    over = () if hard else drift(state, rest, picture)
    if hard or over:
        lines = (*hard, *_cash_lines(rest, cash), *over)
        return ReconciliationFailed(account, _bounded(lines), cash, positions)
    return AccountReconciled(
        account=account,
        cash=cash,
        positions={key: quantity for key, quantity in positions.items() if quantity},
        open_orders=tuple(sorted(order.reference for order in open_orders)),
        unattributed=rest,
        awaited=awaited,
        pending=tuple(sorted(order.id for order in pending)),
    )


def pending_orders(state: State, booked: Iterable[Execution], differing: Mapping[str, tuple[Exact, Exact]]) -> list[LedgerOrder]:
    """The orders at the broker whose fills, not heard of yet, would explain what differs in shares, of each instrument."""
    executions, found = tuple(booked), []
    for key, (want, have) in differing.items():
        side = Side.BUY if have > want else Side.SELL
        orders = [order for order in sent_orders(state) if order.key == key and order.side is side]
        with wide_context():
            left = sum((order.remaining for order in orders), Decimal(0))
            left -= sum((e.quantity for e in executions if e.key == key and e.side is side), Decimal(0))
            explains = abs(have - want) <= left
        if explains:
            found += orders
    return found


def _awaited(money: Mapping[str, Exact], pending: Iterable[LedgerOrder]) -> dict[str, Exact]:
    """Cash that the pending orders explain: less of a currency in which they buy, more of one in which they sell."""
    ways = {(order.currency, order.side) for order in pending}
    return {
        currency: amount for currency, amount in money.items() if (currency, Side.SELL if amount > ZERO else Side.BUY) in ways
    }


def drift(state: State, unattributed: Mapping[str, Exact], picture: Picture) -> tuple[Difference, ...]:
    """Why cash that nothing explains is too much: over the policy's part of the account's worth, or it cannot be judged."""
    if not unattributed:
        return ()
    base = state.policy.policy.base_currency if state.policy else ""
    rates = {**picture.rates, base: Exact(1)}
    pct, whole = _limits(state).cash_drift_pct, picture.net_liquidation
    lacking = next((currency for currency in unattributed if currency not in rates), None)
    if whole is None or lacking is not None:
        what = "net liquidation" if whole is None else f"rate of {lacking}"
        return (Difference(what, "known, to judge the unattributed cash", None),)
    with wide_context():
        found = Exact(sum((abs(amount) * rates[currency] for currency, amount in unattributed.items()), Decimal(0)))
        if found * HUNDRED <= pct * whole:
            return ()
        most = rounded(pct * whole / HUNDRED, CENTS)
    return (Difference("unattributed cash", f"at most {most}, {pct} % of the account", str(found)),)


def log_lost(desk_time: str, broker_time: str) -> ReconciliationFailed:
    """What is said when the broker's clock is ahead of the whole log."""
    return ReconciliationFailed(None, (Difference(LOG_LOST, desk_time, broker_time),), final=True)


def contradiction(message: str) -> ReconciliationFailed:
    """What is said when log and broker cannot both be true."""
    return ReconciliationFailed(None, (Difference("broker", None, _text(message)),), final=True)


def sent_orders(state: State) -> Iterator[LedgerOrder]:
    """The orders that the broker may have and whose end is not in the log."""
    for book in state.books.values():
        for order in book.orders.values():
            if order.state is not OrderState.APPROVED:
                yield order


def expected_positions(state: State, pending: Iterable[Execution]) -> dict[str, Exact]:
    """Σ holdings of all books + baseline + executions not yet in the log, by instrument key."""
    expected = dict(state.account.baseline)
    for book in state.books.values():
        for key, holding in book.holdings.items():
            _add(expected, key, holding.quantity)
    for execution in pending:
        _add(expected, execution.key, execution.quantity if execution.side is Side.BUY else -execution.quantity)
    return expected


def expected_cash(state: State, pending: Iterable[Execution]) -> dict[str, Exact] | None:
    """Cash per currency as last reconciled plus all fills since; None before the first reconciliation."""
    if state.account.cash is None:
        return None
    expected = dict(state.account.cash)
    for execution in pending:
        with wide_context():
            gross = execution.quantity * execution.price
        _add(expected, execution.currency, gross if execution.side is Side.SELL else -gross)
        _add(expected, execution.fee.currency, -execution.fee.amount)
    return expected


def _add(amounts: dict[str, Exact], key: str, change: Decimal) -> None:
    """Add to one entry, exactly."""
    with wide_context():
        amounts[key] = Exact(amounts.get(key, ZERO) + change)


def _unanswered(picture: Picture) -> Iterator[Difference]:
    """One line per question without an answer."""
    answers = (
        ("account", picture.account),
        ("cash", picture.cash),
        ("positions", picture.positions),
        ("open orders", picture.open_orders),
        ("executions", picture.executions),
    )
    for what, answer in answers:
        if answer is None:
            yield Difference(what, "a complete answer", None)


def _differing(expected: dict[str, Exact], found: dict[str, Exact]) -> dict[str, tuple[Exact, Exact]]:
    """What is expected and what the broker has, of each instrument in which they differ."""
    pairs = {key: (expected.get(key, ZERO), found.get(key, ZERO)) for key in sorted({*expected, *found})}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _position_lines(differing: Mapping[str, tuple[Exact, Exact]]) -> Iterator[Difference]:
    """One line per instrument."""
    for key, (want, have) in differing.items():
        yield Difference(_text(f"position {key}"), str(want), str(have))


def _order_differences(state: State, open_orders: tuple[BrokerOrder, ...]) -> Iterator[Difference]:
    """Open orders at the broker that the log does not know, and references that more than one of them carries."""
    known = {order.id for order in sent_orders(state)}
    seen: set[str] = set()
    for found in open_orders:
        if found.reference in known and found.reference not in seen:
            seen.add(found.reference)
            continue
        order = found.order
        text = f"{order.side} {order.quantity} {order.key} at {order.limit}, permanent id {found.permanent_id}"
        yield Difference(_text(f"open order {found.reference or 'without reference'}"), NONE, _text(text))


def _differing_cash(expected: dict[str, Exact] | None, found: dict[str, Exact], tolerance: Exact) -> dict[str, Exact]:
    """By how much the broker has more (less, if negative) than explained, over the tolerance; a currency not listed has none."""
    if expected is None:
        return {}
    with wide_context():
        gaps = {c: Exact(found.get(c, ZERO) - expected.get(c, ZERO)) for c in sorted({*expected, *found})}
        return {currency: gap for currency, gap in gaps.items() if abs(gap) > tolerance}


def _cash_lines(gaps: Mapping[str, Exact], found: dict[str, Exact]) -> Iterator[Difference]:
    """One line per currency."""
    for currency, gap in gaps.items():
        have = found.get(currency, ZERO)
        with wide_context():
            yield Difference(_text(f"cash {currency}"), str(Exact(have - gap)), str(have))


def _limits(state: State) -> Limits:
    """The policy's limits, their defaults before there is a policy."""
    return state.policy.policy.limits if state.policy else Limits()


def _bounded(differences: tuple[Difference, ...]) -> tuple[Difference, ...]:
    """At most `MAX_DIFFERENCES` lines, then one that counts the rest."""
    more = len(differences) - MAX_DIFFERENCES
    if more <= 0:
        return differences
    return (*differences[:MAX_DIFFERENCES], Difference("further differences", "0", str(more)))


def _text(text: str) -> str:
    """Foreign names as events hold them."""
    return clean_text(text, MAX_DIFFERENCE_CHARS)
