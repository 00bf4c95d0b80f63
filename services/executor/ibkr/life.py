"""The life of one order at the broker as values: where it stands, what comes in, what follows. Times are aware UTC."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from shared.protocol.money import ZERO, Exact, Money, wide_context

MAX_EARLY: Final = 100
MAX_EXECUTIONS: Final = 10_000
MAX_WORDS: Final = 500


class Phase(StrEnum):
    """Where an order stands; names and transitions are those of the requirement's section 7."""

    INTENT = "intent"
    SENT = "sent"
    ACKED = "acked"
    PARTIAL = "partial"
    CANCEL_REQUESTED = "cancel_requested"
    HELD = "held"
    FILLED = "filled"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    SETTLED = "settled"
    ABANDONED = "abandoned"

    @property
    def is_closed(self) -> bool:
        """Whether the order's end stands in the log; a late fill is still booked."""
        return self in {Phase.SETTLED, Phase.ABANDONED}

    @property
    def is_working(self) -> bool:
        """Whether more can happen at the broker without our doing, as far as is known: it reserves cash or shares."""
        return self not in {Phase.INTENT, Phase.SETTLED, Phase.ABANDONED}


class Patience(msgspec.Struct, frozen=True):
    """How long is waited for what."""

    acknowledgement: timedelta = timedelta(seconds=15)
    cancel: timedelta = timedelta(seconds=30)
    settling: timedelta = timedelta(seconds=5)
    commission: timedelta = timedelta(seconds=60)
    fee: timedelta = timedelta(seconds=120)
    sweeps: int = 2


class Fill(msgspec.Struct, frozen=True):
    """The newest revision of one execution, `id` with it. `booked`: the revision that `Book` was said for, empty for none;
    `fee_due`: it was booked without its commission; `asked`: the commission was asked for; `late`: it came after an end.
    """

    id: str
    revision: int
    quantity: Exact
    price: Exact
    seen: datetime
    fee: Money | None = None
    booked: str = ""
    fee_due: bool = False
    asked: bool = False
    late: bool = False


class Life(msgspec.Struct, frozen=True):
    """One order. `claim`: the end that the broker has claimed (filled, cancelled, rejected) and `words` for it; `reported`: the
    largest filled quantity that a status named; `early`: commissions whose execution has not come yet.
    """

    reference: str
    quantity: Exact
    phase: Phase = Phase.INTENT
    since: datetime | None = None
    perm_id: int = 0
    reported: Exact = ZERO
    fills: dict[str, Fill] = {}
    early: dict[str, Money] = {}
    claim: Phase | None = None
    claimed: datetime | None = None
    words: str = ""
    cancel_sent: bool = False
    refused: bool = False
    asked: bool = False

    @property
    def filled(self) -> Exact:
        """The shares of the newest revision of every execution: the truth about quantity."""
        with wide_context():
            return Exact(sum((fill.quantity for fill in self.fills.values()), ZERO))


class Sent(msgspec.Struct, frozen=True):
    """The order was handed to the client library."""


class Unsent(msgspec.Struct, frozen=True):
    """The order provably never left: nothing was connected, or it is withheld."""

    words: str


class StatusSeen(msgspec.Struct, frozen=True):
    """A status or an open order from the broker itself, never one that the library invented."""

    status: str
    perm_id: int
    filled: Exact | None
    why_held: str = ""


class ExecutionSeen(msgspec.Struct, frozen=True):
    """An execution; None where a number of it means nothing."""

    id: str
    quantity: Exact | None
    price: Exact | None


class CommissionSeen(msgspec.Struct, frozen=True):
    """A commission report; None where its amount means nothing."""

    execution: str
    fee: Money | None


class ErrorSeen(msgspec.Struct, frozen=True):
    """An error or notice about this order."""

    code: int
    words: str


class CancelSent(msgspec.Struct, frozen=True):
    """Our own cancel was handed to the client library."""


class Doubted(msgspec.Struct, frozen=True):
    """What was sent or asked may or may not have arrived: disconnected, 1100, a restart of ours."""

    reason: str


class Swept(msgspec.Struct, frozen=True):
    """The order's place in complete lists of open and completed orders and executions; `status` None: found in none of them.

    `sweeps`: how many complete sweeps in a row found nothing, far enough apart and on the day of the sending.
    """

    status: str | None
    perm_id: int = 0
    filled: Exact | None = None
    why_held: str = ""
    sweeps: int = 0


class TimePassed(msgspec.Struct, frozen=True):
    """Nothing came; a deadline may have passed."""


Input = Sent | Unsent | StatusSeen | ExecutionSeen | CommissionSeen | ErrorSeen | CancelSent | Doubted | Swept | TimePassed


class Placed(msgspec.Struct, frozen=True):
    """The broker has the order, for the first time."""

    perm_id: int


class Book(msgspec.Struct, frozen=True):
    """Book this execution. `fee` None: pending, its deadline has passed. `replaces`: the booked revision that it corrects."""

    execution: str
    quantity: Exact
    price: Exact
    fee: Money | None
    replaces: str | None = None
    late: bool = False


class BookFee(msgspec.Struct, frozen=True):
    """The commission of an execution that was booked without it."""

    execution: str
    fee: Money


class Ask(msgspec.Struct, frozen=True):
    """Sweep the broker's lists for this order."""

    reason: str


class Alarm(msgspec.Struct, frozen=True):
    """Tell a person."""

    kind: str
    words: str


class Close(msgspec.Struct, frozen=True):
    """The order's end: filled, cancelled, rejected or unsent; everything that was executed by now is booked."""

    end: str
    filled: Exact
    words: str


Effect = Placed | Book | BookFee | Ask | Alarm | Close


class Change(msgspec.Struct, frozen=True):
    """The order afterwards, and what follows, in order."""

    life: Life
    effects: tuple[Effect, ...] = ()
