"""What stands beside the books in `propdesk status`: halts, approvals, the account, the policy and its file."""

from collections.abc import Iterator

import msgspec

from services.desk.layout import DEFAULT_DIR, Layout
from services.desk.policy_file import PolicyFile, advice, compared, remembered
from services.journal.read import ReadModels
from services.journal.summary import AccountSummary, BookSummary, DeskSummary, HaltInForce, Waiting
from shared.protocol.envelope import decode
from shared.protocol.events import Difference, PolicyAdopted
from shared.protocol.ids import DESK_BOOK
from shared.protocol.money import Exact

UNKNOWN = "unknown"


class Reconciliation(msgspec.Struct, frozen=True):
    """The account when last looked at: `agrees` is None before that. `borrowed` is what it owes, amounts by currency.

    `adopted`: an operator accepted something since then.
    """

    account: str | None
    at: str | None
    agrees: bool | None
    differences: tuple[Difference, ...]
    unattributed: dict[str, Exact]
    borrowed: dict[str, Exact]
    baseline: dict[str, Exact]
    pending: tuple[str, ...]
    adopted: bool = False


class PolicyInForce(msgspec.Struct, frozen=True):
    """The policy, since when and why; `file` is what its file says by now, None if no file is known."""

    seq: int
    policy_hash: str
    at: str
    reason: str
    file: PolicyFile | None


class Standing(msgspec.Struct, frozen=True):
    """All of it; `paused` says by book why its source is not asked, `selling` are books whose holdings are to be sold."""

    halts: tuple[HaltInForce, ...] = ()
    approvals: tuple[Waiting, ...] = ()
    paused: dict[str, str] = {}
    closed: tuple[str, ...] = ()
    selling: tuple[str, ...] = ()
    no_value: tuple[str, ...] = ()
    reconciliation: Reconciliation | None = None
    policy: PolicyInForce | None = None


def standing(models: ReadModels, layout: Layout) -> tuple[Standing, dict[str, BookSummary]]:
    """What the read models say, and the books of it."""
    desk = models.desk()
    if desk is None:
        return Standing(), {}
    return _standing(desk, _policy(models, layout)), desk.books


def _standing(desk: DeskSummary, policy: PolicyInForce | None) -> Standing:
    books = desk.books
    return Standing(
        halts=desk.halts,
        approvals=desk.approvals,
        paused={name: book.paused for name, book in books.items() if book.paused},
        closed=tuple(name for name, book in books.items() if book.closed),
        selling=tuple(name for name, book in books.items() if book.selling and book.holdings),
        no_value=tuple(name for name, book in books.items() if book.no_value),
        reconciliation=_reconciliation(desk.account),
        policy=policy,
    )


def _reconciliation(account: AccountSummary) -> Reconciliation:
    return Reconciliation(
        account=account.name,
        at=account.at,
        agrees=None if account.at is None else not account.failed,
        differences=account.differences,
        unattributed=account.unattributed,
        borrowed=account.borrowed,
        baseline=account.baseline,
        pending=account.pending,
        adopted=account.adopted,
    )


def _policy(models: ReadModels, layout: Layout) -> PolicyInForce | None:
    """The policy in force beside its file."""
    row = models.policy()
    if row is None:
        return None
    file = remembered(layout)
    found = None if file is None else compared(file, decode(PolicyAdopted, row.document.encode()))
    return PolicyInForce(row.seq, row.policy_hash, row.at, row.reason, found)


def lines(found: Standing, layout: Layout) -> list[str]:
    """The same for a person: what needs attention first."""
    return [
        *_halts(found),
        *_approvals(found),
        *_sources(found),
        *_account(found.reconciliation),
        *_of_policy(found.policy, layout),
    ]


def _halts(found: Standing) -> Iterator[str]:
    for row in found.halts:
        scope = "the whole desk" if row.scope == DESK_BOOK else row.scope
        kind = row.kind.replace("_", "-")
        sold = ", what is held is to be sold" if row.liquidate else ""
        yield f"halted: {kind} halt of {scope} ({row.cause.replace('_', ' ')}){sold}: {row.reason}"
    for name in found.selling:
        yield f"selling: what {name} holds is being sold"
    for name in found.no_value:
        yield f"no value: a holding of {name} had no price when last valued, so it buys nothing"


def _approvals(found: Standing) -> Iterator[str]:
    for row in found.approvals:
        order = f"{row.side} {row.quantity} {row.symbol} at {row.limit} {row.currency}"
        yield f"waits for approval until {row.until}: {row.order}  {order} (propdesk approve or refuse)"


def _sources(found: Standing) -> Iterator[str]:
    for name, reason in found.paused.items():
        yield f"paused: the source of {name} is not asked: {reason}"
    for name in found.closed:
        yield f"closed: the book {name}"


def _account(found: Reconciliation | None) -> Iterator[str]:
    if found is None or found.at is None:
        return
    if found.agrees:
        yield f"account {found.account or UNKNOWN} agreed with the books at {found.at}"
    else:
        told = "buying is blocked, selling is not; `propdesk adopt` books what you accept"
        yield f"account {found.account or UNKNOWN} did not agree with the books at {found.at}: {told}"
    if found.adopted:
        yield "something was adopted since: the next look at the account, before a run, shows whether all is explained"
    for row in found.differences:
        yield f"  {row.what}: expected {row.expected or UNKNOWN}, found {row.found or UNKNOWN}"
    for currency, amount in found.unattributed.items():
        yield f"unattributed cash: {amount} {currency} is in no book (propdesk adopt --dividend, --interest or --fee)"
    for currency, amount in found.borrowed.items():
        yield f"borrowed: the account owes {amount} {currency}"
    for order in found.pending:
        yield f"pending: a difference that {order} explains is looked at again when it ends"


def _of_policy(found: PolicyInForce | None, layout: Layout) -> Iterator[str]:
    if found is None:
        return
    yield f"policy {found.policy_hash[:16]} in force since sequence {found.seq}: {found.reason}"
    where = "" if str(layout.root) == DEFAULT_DIR else f" --dir {layout.root}"
    told = None if found.file is None else advice(found.file, where)
    if told is not None:
        yield told
