"""What each event says: the `data` of every type, frozen, closed and in canonical form.

The structures stand by author in `shared.protocol.facts`. A type's version is in `VERSIONS`; its author in `AUTHORS_OF`. Amounts
are decimal text, times canonical text, percentages 0 to 100. Cash effects and values are in the desk's base currency unless a
field names another.
"""

from typing import Final

from shared.protocol.facts.agent import ProposalMade, RunEnded, RunStarted, SourceFailed
from shared.protocol.facts.base import Data, StateHashed
from shared.protocol.facts.desk import (
    AccountBaselined,
    AdjustmentBooked,
    ApprovalGiven,
    ApprovalRefused,
    BookArgs,
    BookClosed,
    BookOpened,
    CancelOrdered,
    CashDeposited,
    CashWithdrawn,
    ClockAdvanced,
    FlattenOrdered,
    HaltOrdered,
    HaltReset,
    KeysAdopted,
    PolicyAdopted,
    RunArgs,
    Share,
    SourcePaused,
    SourceResumed,
)
from shared.protocol.facts.executor import (
    AccountReconciled,
    Difference,
    FillSettled,
    MarketObserved,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrderWithheld,
    ReconciliationFailed,
    RunSettled,
)
from shared.protocol.facts.gate import (
    BookValued,
    Breach,
    Decision,
    HaltTripped,
    HoldingValued,
    OrdersUsed,
    Reason,
    RunCleared,
    RunStopped,
    Verdict,
)

__all__ = [
    "AUTHORS_OF",
    "EVENT_TYPES",
    "LARGE_TYPES",
    "MAX_EVENT_BYTES",
    "MAX_LARGE_EVENT_BYTES",
    "MAX_TEXT_CHARS",
    "ON_STATE",
    "VERSIONS",
    "AccountBaselined",
    "AccountReconciled",
    "AdjustmentBooked",
    "ApprovalGiven",
    "ApprovalRefused",
    "BookArgs",
    "BookClosed",
    "BookOpened",
    "BookValued",
    "Breach",
    "CancelOrdered",
    "CashDeposited",
    "CashWithdrawn",
    "ClockAdvanced",
    "Data",
    "Decision",
    "Difference",
    "EventData",
    "FillSettled",
    "FlattenOrdered",
    "HaltOrdered",
    "HaltReset",
    "HaltTripped",
    "HoldingValued",
    "KeysAdopted",
    "MarketObserved",
    "OrderClosed",
    "OrderIntended",
    "OrderPlaced",
    "OrderWithheld",
    "OrdersUsed",
    "PolicyAdopted",
    "ProposalMade",
    "Reason",
    "ReconciliationFailed",
    "RunArgs",
    "RunCleared",
    "RunEnded",
    "RunSettled",
    "RunStarted",
    "RunStopped",
    "Share",
    "SourceFailed",
    "SourcePaused",
    "SourceResumed",
    "StateHashed",
    "Verdict",
]

EventData = (
    ClockAdvanced
    | KeysAdopted
    | PolicyAdopted
    | BookOpened
    | CashDeposited
    | CashWithdrawn
    | BookClosed
    | SourcePaused
    | SourceResumed
    | AccountBaselined
    | AdjustmentBooked
    | HaltOrdered
    | HaltTripped
    | HaltReset
    | FlattenOrdered
    | ApprovalGiven
    | ApprovalRefused
    | CancelOrdered
    | RunStarted
    | AccountReconciled
    | ReconciliationFailed
    | MarketObserved
    | BookValued
    | RunCleared
    | RunStopped
    | ProposalMade
    | SourceFailed
    | Verdict
    | OrderWithheld
    | OrderIntended
    | OrderPlaced
    | OrderClosed
    | FillSettled
    | RunSettled
    | RunEnded
    | StateHashed
)

EVENT_TYPES: Final[dict[str, type[Data]]] = {kind.__name__: kind for kind in EventData.__args__}
VERSIONS: Final[dict[str, int]] = dict.fromkeys(EVENT_TYPES, 1)

AUTHORS_OF: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("ClockAdvanced", "KeysAdopted", "PolicyAdopted", "BookOpened", "CashDeposited"), ("desk",)),
    **dict.fromkeys(("CashWithdrawn", "BookClosed", "AccountBaselined", "AdjustmentBooked"), ("desk",)),
    **dict.fromkeys(("SourcePaused", "SourceResumed"), ("desk",)),
    **dict.fromkeys(("HaltReset", "FlattenOrdered", "CancelOrdered", "ApprovalGiven", "ApprovalRefused"), ("desk",)),
    "HaltOrdered": ("desk", "executor", "journal"),
    **dict.fromkeys(("RunStarted", "ProposalMade", "SourceFailed", "RunEnded"), ("agent",)),
    **dict.fromkeys(("AccountReconciled", "ReconciliationFailed", "MarketObserved"), ("executor",)),
    **dict.fromkeys(("OrderWithheld", "OrderIntended", "OrderPlaced", "OrderClosed"), ("executor",)),
    **dict.fromkeys(("FillSettled", "RunSettled"), ("executor",)),
    **dict.fromkeys(("BookValued", "HaltTripped", "RunCleared", "RunStopped", "Verdict"), ("gate",)),
    "StateHashed": ("gate", "executor", "journal"),
}
"""Who may write each type; an event by anyone else is not a fact."""

ON_STATE: Final = frozenset(
    {
        *("RunCleared", "BookValued", "Verdict", "HaltTripped", "OrderIntended", "PolicyAdopted", "ClockAdvanced"),
        *("CashDeposited", "CashWithdrawn", "BookClosed", "AdjustmentBooked", "AccountBaselined", "HaltReset"),
        *("ApprovalGiven", "ApprovalRefused", "CancelOrdered", "FlattenOrdered", "SourcePaused", "SourceResumed"),
    }
)
"""Types that hold only for the state they were decided on: appended with a stream-wide expectation."""

LARGE_TYPES: Final = frozenset({"PolicyAdopted", "MarketObserved", "ClockAdvanced"})
MAX_EVENT_BYTES: Final = 64 * 1024
MAX_LARGE_EVENT_BYTES: Final = 512 * 1024
MAX_TEXT_CHARS: Final = 2000
