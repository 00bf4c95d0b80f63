"""Whether the broker's account is what the ledgers of all books add up to. Pure."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

import msgspec

from services.executor.broker import BrokerOrder, Execution
from services.executor.fills import unsettled
from shared.ledger.state import LedgerOrder, OrderState, State
from shared.protocol.envelope import clean_text
from shared.protocol.events import AccountReconciled, Difference, ReconciliationFailed
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, wide_context
from shared.protocol.policy import Limits

MAX_DIFFERENCES: Final = 100
MAX_DIFFERENCE_CHARS: Final = 200
NONE: Final = "none"
LOG_LOST: Final = "desk time"


class Picture(msgspec.Struct, frozen=True):
    """The broker's account at one time. None: that question has no complete answer, which is not an empty one.

    `cash` per currency, `positions` by instrument key, `open_orders` those still working, `executions` all that belong to orders
    which are open in the ledger, in the broker's order.
    """

    account: str | None
    cash: dict[str, Exact] | None
    positions: dict[str, Exact] | None
    open_orders: tuple[BrokerOrder, ...] | None
    executions: tuple[Execution, ...] | None


def reconcile(state: State, picture: Picture) -> AccountReconciled | ReconciliationFailed:
    """Compare ledgers and broker: every instrument exactly, open orders by reference, cash within the policy's tolerance.

    Executions that the log lacks are added to the ledgers' side. The first reconciliation takes the broker's cash as the start.
    """
    account, cash, positions, open_orders = picture.account, picture.cash, picture.positions, picture.open_orders
    if account is None or cash is None or positions is None or open_orders is None or picture.executions is None:
        return ReconciliationFailed(account, tuple(_unanswered(picture)))
    pending = tuple(e for order in sent_orders(state) for e in unsettled(order, picture.executions))
    differences = (
        *_position_differences(expected_positions(state, pending), positions),
        *_order_differences(state, open_orders),
        *_cash_differences(expected_cash(state, pending), cash, _tolerance(state)),
    )
    if differences:
        return ReconciliationFailed(account, _bounded(differences))
    held = {key: quantity for key, quantity in positions.items() if quantity}
    return AccountReconciled(account, cash, held, tuple(sorted(order.reference for order in open_orders)))


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


def _position_differences(expected: dict[str, Exact], found: dict[str, Exact]) -> Iterator[Difference]:
    """Instruments of which the broker holds another number of shares."""
    for key in sorted({*expected, *found}):
        want, have = expected.get(key, ZERO), found.get(key, ZERO)
        if want != have:
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


def _cash_differences(expected: dict[str, Exact] | None, found: dict[str, Exact], tolerance: Exact) -> Iterator[Difference]:
    """Currencies whose cash differs by more than the tolerance; a currency that is not listed has none."""
    if expected is None:
        return
    for currency in sorted({*expected, *found}):
        want, have = expected.get(currency, ZERO), found.get(currency, ZERO)
        with wide_context():
            over = abs(have - want) > tolerance
        if over:
            yield Difference(_text(f"cash {currency}"), str(want), str(have))


def _tolerance(state: State) -> Exact:
    """The policy's cash tolerance, its default before there is a policy."""
    return state.policy.policy.limits.cash_tolerance if state.policy else Limits().cash_tolerance


def _bounded(differences: tuple[Difference, ...]) -> tuple[Difference, ...]:
    """At most `MAX_DIFFERENCES` lines, then one that counts the rest."""
    more = len(differences) - MAX_DIFFERENCES
    if more <= 0:
        return differences
    return (*differences[:MAX_DIFFERENCES], Difference("further differences", "0", str(more)))


def _text(text: str) -> str:
    """Foreign names as events hold them."""
    return clean_text(text, MAX_DIFFERENCE_CHARS)
