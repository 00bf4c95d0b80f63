"""How the desk stands at one sequence, as `propdesk status` shows it: read off the folded state. Pure."""

from datetime import timedelta
from typing import Final

import msgspec

from shared.ledger.approvals import waiting
from shared.ledger.books import known_value
from shared.ledger.reservations import free_cash
from shared.ledger.state import Halt, State
from shared.protocol.envelope import canonical, decode
from shared.protocol.events import Difference
from shared.protocol.ids import DESK_BOOK
from shared.protocol.instants import parse, to_text
from shared.protocol.money import Exact

MAX_LISTED: Final = 100


class HaltInForce(msgspec.Struct, frozen=True):
    """A halt of a book or `_desk`. `cause` is what ordered it; `liquidate`: what is held is to be sold."""

    scope: str
    kind: str
    liquidate: bool
    cause: str
    reason: str


class Waiting(msgspec.Struct, frozen=True):
    """An order that waits for an operator, and until when."""

    order: str
    book: str
    symbol: str
    currency: str
    side: str
    quantity: Exact
    limit: Exact
    at: str
    until: str


class BookSummary(msgspec.Struct, frozen=True):
    """A book. `value` is that of its newest valuation and the flows since, its cash if nothing is held.

    `net_deposits` is what was put in less what was taken out, `free` its cash less what orders hold back. `holdings` counts
    names; `selling`: what it holds is to be sold; `no_value`: its newest valuation lacked a price.
    """

    value: Exact | None
    cash: Exact
    free: Exact
    net_deposits: Exact
    holdings: int
    closed: bool = False
    paused: str = ""
    selling: bool = False
    no_value: bool = False


class AccountSummary(msgspec.Struct, frozen=True):
    """The account as last looked at (`at`). `failed`: it differed from the books in `differences`. `borrowed` is what it owes by
    currency, `unattributed` cash that is in no book, `pending` are orders whose end is awaited to look again.

    `adopted`: an operator accepted something since.
    """

    name: str | None
    at: str | None
    failed: bool
    differences: tuple[Difference, ...]
    unattributed: dict[str, Exact]
    borrowed: dict[str, Exact]
    baseline: dict[str, Exact]
    pending: tuple[str, ...]
    adopted: bool = False


class DeskSummary(msgspec.Struct, frozen=True):
    """The whole desk; `policy_seq` is where the policy in force stands, 0 before there is one."""

    policy_seq: int
    halts: tuple[HaltInForce, ...]
    approvals: tuple[Waiting, ...]
    books: dict[str, BookSummary]
    account: AccountSummary
    problem: str | None = None


def summary(state: State) -> DeskSummary:
    """What is in force and open at the end of what was folded."""
    account = state.account
    return DeskSummary(
        policy_seq=state.policy_seq,
        halts=_halts(state),
        approvals=_approvals(state),
        books={
            name: BookSummary(
                value=known_value(book),
                cash=book.cash,
                free=free_cash(book),
                net_deposits=book.net_deposits,
                holdings=len(book.holdings),
                closed=book.closed,
                paused=book.paused,
                selling=book.sale is not None,
                no_value=book.unknown,
            )
            for name, book in state.books.items()
        },
        account=AccountSummary(
            name=account.name,
            at=account.looked_at,
            failed=account.failed,
            differences=account.differences[:MAX_LISTED],
            unattributed=account.unattributed,
            borrowed=account.borrowed,
            baseline=account.baseline,
            pending=account.pending[:MAX_LISTED],
            adopted=account.adopted,
        ),
        problem=state.problem,
    )


def _halts(state: State) -> tuple[HaltInForce, ...]:
    """The desk's halt first, then the books'."""
    found = [(DESK_BOOK, halt) for scope, halt in state.halts.items() if scope == DESK_BOOK]
    found += [(name, book.halt) for name, book in state.books.items() if book.halt is not None]
    return tuple(_halt(scope, halt) for scope, halt in found)


def _halt(scope: str, halt: Halt) -> HaltInForce:
    return HaltInForce(scope, halt.kind, halt.liquidate, halt.cause, halt.reason)


def _approvals(state: State) -> tuple[Waiting, ...]:
    """What an operator can still approve, oldest first."""
    if state.policy is None:
        return ()
    ttl = timedelta(seconds=state.policy.policy.limits.approval_ttl_s)
    return tuple(
        Waiting(
            order=row.order,
            book=row.book,
            symbol=row.symbol,
            currency=row.currency,
            side=row.side,
            quantity=row.quantity,
            limit=row.limit,
            at=row.at,
            until=to_text(parse(row.at) + ttl),
        )
        for row in waiting(state)[:MAX_LISTED]
    )


def as_text(found: DeskSummary) -> str:
    """Canonical JSON."""
    return canonical(found).decode()


def from_text(text: str) -> DeskSummary:
    """The way back; raises `EnvelopeError`."""
    return decode(DeskSummary, text.encode())
