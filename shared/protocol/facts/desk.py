"""What the desk says: time, keys, policy, books, and everything that an operator wants. `HaltOrdered` comes from others too."""

from shared.protocol.facts.base import Data
from shared.protocol.instants import Day, Instant
from shared.protocol.money import Exact
from shared.protocol.policy import Policy


class BookArgs(Data, frozen=True):
    """One book of a simulated run: its proposal source, the source's argument and its opening deposit."""

    book: str
    source: str
    argument: str
    deposit: Exact


class RunArgs(Data, frozen=True):
    """What decides the result of a simulated run; two runs with equal `RunArgs` are the same run.

    `data_sha256` is that of the price file, `sessions` the trading days in order, `seed` any whole number, `scenario` the hash of
    what is scripted, None if nothing is; `dry`: every run is a dry one.
    """

    data_sha256: str
    sessions: tuple[Day, ...]
    books: tuple[BookArgs, ...]
    seed: int
    policy_hash: str
    scenario: str | None = None
    dry: bool = False


class ClockAdvanced(Data, frozen=True):
    """Desk time is now `to`. `step` is open, slot, close or watch; `due` are the books of a slot in configuration order.

    `dry` are those among them whose run only tries: all of its events carry mode `dry`.
    """

    to: Instant
    step: str
    session: Day
    due: tuple[str, ...] = ()
    args: RunArgs | None = None
    dry: tuple[str, ...] = ()


class KeysAdopted(Data, frozen=True):
    """From here on these public keys sign: by author, a source's as `agent/<book>`. Itself it is signed by `root`.

    `rotated` names the one that is new; null for the first keys.
    """

    keys: dict[str, str]
    root: str
    reason: str
    rotated: str | None = None


class PolicyAdopted(Data, frozen=True):
    """From here on this policy rules. `stated` names the limits that its file states, which the hash covers."""

    policy: Policy
    stated: tuple[str, ...]
    policy_hash: str
    reason: str


class BookOpened(Data, frozen=True):
    """A book exists from here on."""

    source: str
    currency: str


class CashDeposited(Data, frozen=True):
    """Virtual capital moved into a book; never profit."""

    amount: Exact
    reason: str


class CashWithdrawn(Data, frozen=True):
    """Virtual capital moved out of a book; never loss."""

    amount: Exact
    reason: str


class BookClosed(Data, frozen=True):
    """A book ends here: `amount` is the cash that was left and leaves with it; its name is never used again."""

    amount: Exact
    reason: str


class SourcePaused(Data, frozen=True):
    """The book's source is not asked any more; what it holds stays protected."""

    reason: str


class SourceResumed(Data, frozen=True):
    """The book's source is asked again."""

    reason: str


class AccountBaselined(Data, frozen=True):
    """What of the broker's account belongs to no book, shares by instrument key, and its cash per currency from here on."""

    account: str
    positions: dict[str, Exact]
    cash: dict[str, Exact]
    reason: str


class Share(Data, frozen=True):
    """One book's part of an adjustment: cash in base currency, and shares with their cost where it moves any."""

    book: str
    cash: Exact
    quantity: Exact | None = None
    cost: Exact | None = None


class AdjustmentBooked(Data, frozen=True):
    """What an operator accepts after a difference.

    `kind` is dividend, interest, fee or position. `amount` is the account's cash in `currency`, `quantity` the account's shares
    of `symbol`; `shares` are the books' parts, empty if it belongs to none.
    """

    kind: str
    currency: str
    amount: Exact
    reason: str
    symbol: str | None = None
    quantity: Exact | None = None
    shares: tuple[Share, ...] = ()


class HaltOrdered(Data, frozen=True):
    """An operator or an alarm stops new risk: `kind` is full or reduce_only, `scope` a book or `_desk`."""

    scope: str
    kind: str
    liquidate: bool
    reason: str


class HaltReset(Data, frozen=True):
    """An operator lifts the halt of `scope`; the peak becomes the value."""

    scope: str
    reason: str
    keep_holdings: bool = False


class FlattenOrdered(Data, frozen=True):
    """An operator wants what `scope` (a book or `_desk`) holds sold, of one instrument key or all; no halt."""

    scope: str
    symbol: str | None
    reason: str


class ApprovalGiven(Data, frozen=True):
    """An operator lets the gate judge afresh an order that needed approval."""

    order: str
    reason: str


class ApprovalRefused(Data, frozen=True):
    """An operator does not want an order that needed approval."""

    order: str
    reason: str


class CancelOrdered(Data, frozen=True):
    """An operator wants this order cancelled."""

    order: str
    reason: str
