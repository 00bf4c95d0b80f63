"""What each event says: the `data` of every type, frozen, closed and in canonical form.

A type's version is in `VERSIONS`; its author in `AUTHOR_OF`. Amounts are decimal text, times canonical text, percentages 0
to 100. Cash effects and values are in the desk's base currency unless a field names another.
"""

from typing import Final

import msgspec

from shared.protocol.instants import Day, Instant
from shared.protocol.market import ExchangeSession, ProposedOrder, Quote, Side
from shared.protocol.money import Exact, Money
from shared.protocol.policy import Policy
from shared.protocol.reasons import (
    OrderEnd,
    Rule,
    RunStatus,
    SourceFault,
    StopReason,
    Withheld,
)


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the `data` of all events."""


class BookArgs(Data, frozen=True):
    """One book of a simulated run: its proposal source, the source's argument and its opening deposit."""

    book: str
    source: str
    argument: str
    deposit: Exact


class RunArgs(Data, frozen=True):
    """What decides the result of a simulated run; two runs with equal `RunArgs` are the same run.

    `data_sha256` is that of the price file, `sessions` the trading days in order, `seed` any whole number, `scenario` the hash of
    what is scripted, None if nothing is.
    """

    data_sha256: str
    sessions: tuple[Day, ...]
    books: tuple[BookArgs, ...]
    seed: int
    policy_hash: str
    scenario: str | None = None


class ClockAdvanced(Data, frozen=True):
    """Desk time is now `to`. `step` is open, slot, close or watch; `due` are the books of a slot in configuration order."""

    to: Instant
    step: str
    session: Day
    due: tuple[str, ...] = ()
    args: RunArgs | None = None


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


class RunStarted(Data, frozen=True):
    """A slot is due: the source asks for a decision; `names` are the instrument keys it wants priced."""

    source: str
    slot: Instant
    session: Day
    names: tuple[str, ...]
    model: str | None = None
    prompt_version: str | None = None


class Difference(Data, frozen=True):
    """One line of a reconciliation that does not add up; absent means unknown."""

    what: str
    expected: str | None
    found: str | None


class AccountReconciled(Data, frozen=True):
    """Ledgers, positions, open orders and cash of the broker's account agree. Amounts per key or currency are the broker's.

    `unattributed`: cash that nothing in the log explains and that is in no book, by currency since it was last adopted. `pending`
    are orders at the broker that explain what differs in shares, and `awaited` in cash; they are looked at again when they end.
    """

    account: str
    cash: dict[str, Exact]
    positions: dict[str, Exact]
    open_orders: tuple[str, ...]
    unattributed: dict[str, Exact] = {}
    awaited: dict[str, Exact] = {}
    pending: tuple[str, ...] = ()


class ReconciliationFailed(Data, frozen=True):
    """They do not agree, or the log was lost: every difference listed, and what the broker has, None where it is unknown.

    `final`: log and broker contradict each other so that nothing at all may be sent any more. Else buying is blocked, and
    exits, valuation and kill switch go on.
    """

    account: str | None
    differences: tuple[Difference, ...]
    cash: dict[str, Exact] | None = None
    positions: dict[str, Exact] | None = None
    final: bool = False


class MarketObserved(Data, frozen=True):
    """Prices, ticks, FX and sessions at one time; what is absent is unknown.

    `purpose` is run, verdict, watch, liquidation or approval. `fx`: base units per unit of the currency. `ticks` by instrument
    key, `sessions` by exchange. `positions`, for a liquidation: the broker's shares of each held name, None if unknown (then
    its last complete answer counts).
    """

    purpose: str
    quotes: tuple[Quote, ...]
    ticks: dict[str, Exact]
    fx: dict[str, Exact]
    sessions: dict[str, ExchangeSession]
    positions: dict[str, Exact] | None = None


class HoldingValued(Data, frozen=True):
    """One holding at its reference price; price and value None if unknown."""

    symbol: str
    currency: str
    quantity: Exact
    price: Exact | None
    value: Exact | None


class OrdersUsed(Data, frozen=True):
    """Orders approved in the current month (policy's zone) and exchange day."""

    month: int
    day: int


class Breach(Data, frozen=True):
    """Valuations in a row that saw the drawdown at or over the limit, on separate quotes.

    `at`, `quotes` (marks of the held names' quote times) and `run` (None: a watch or close) are those of the newest that counted.
    """

    count: int
    at: Instant
    quotes: str
    run: str | None
    evidence: tuple[str, ...]


class BookValued(Data, frozen=True):
    """A book at one time. `purpose` is run, watch or close; only a run's first valuation may move the peak.

    `value` is None if a holding has no price. `previous` is the valuation that the next run's peak rule compares with. `breach`:
    the valuations up to this one that agree that the drawdown is at or over the limit, None if this one does not.
    """

    purpose: str
    cash: Exact
    holdings: tuple[HoldingValued, ...]
    value: Exact | None
    peak: Exact
    previous: Exact | None
    drawdown_pct: Exact | None
    used: OrdersUsed
    evidence: tuple[str, ...]
    quoted: str
    breach: Breach | None = None


class HaltTripped(Data, frozen=True):
    """The gate itself stops new risk in `scope`: `cause` is kill_switch or evaluator_failed.

    `kind` and `liquidate` as in `HaltOrdered`. `value`, `peak`, `drawdown_pct` and `limit_pct` are what it saw, None where the
    cause has no such number; `evidence` names the observations that agreed.
    """

    scope: str
    kind: str
    liquidate: bool
    cause: str
    message: str
    value: Exact | None
    peak: Exact | None
    drawdown_pct: Exact | None
    limit_pct: Exact | None
    evidence: tuple[str, ...]


class RunCleared(Data, frozen=True):
    """The agent may think. `value` as in the run's `BookValued`; `buys_blocked` names what blocks buying, if anything."""

    value: Exact | None
    buys_blocked: tuple[Rule, ...] = ()


class RunStopped(Data, frozen=True):
    """The run ends here and why."""

    status: RunStatus
    message: str


class ProposalMade(Data, frozen=True):
    """What a source proposes; no orders is a decision too."""

    source: str
    orders: tuple[ProposedOrder, ...]
    summary: str
    stop_reason: StopReason
    cost: Money | None = None
    transcript: str | None = None
    untrusted: bool = False


class SourceFailed(Data, frozen=True):
    """A fault of the source; never a hold."""

    kind: SourceFault
    message: str


class Reason(Data, frozen=True):
    """Why a rule blocks: its limit, the value found and the room left; None where a rule has no number."""

    rule: Rule
    limit: Exact | None
    value: Exact | None
    headroom: Exact | None
    message: str


class Decision(Data, frozen=True):
    """The judgement of one proposed order; `index` is 1-based in the proposal.

    `quantity`, `limit`, `notional`, `commission`, `fx` are None where the proposal or the evidence gives none. `largest` is the
    largest quantity that would pass, None on approved orders. `order` is the order's id if it was approved.
    """

    index: int
    symbol: str
    currency: str
    side: str
    quantity: Exact | None
    limit: Exact | None
    approved: bool
    needs_approval: bool
    notional: Exact | None
    commission: Exact | None
    fx: Exact | None
    reasons: tuple[Reason, ...]
    largest: Exact | None
    order: str | None = None
    crosses: str | None = None


class Verdict(Data, frozen=True):
    """One decision per proposed order, in the order judged; blocks that hold for the whole batch stand in `block`."""

    kind: str
    decisions: tuple[Decision, ...]
    block: tuple[Reason, ...]
    value: Exact | None
    drawdown_pct: Exact | None
    policy_hash: str
    rules: str
    evidence: tuple[str, ...]
    valid_until: Instant


class OrderWithheld(Data, frozen=True):
    """An approved order is not sent; its reservation and its count go back."""

    order: str
    reason: Withheld
    message: str


class OrderIntended(Data, frozen=True):
    """About to be sent; `exchange` is where, `reference` what the broker will know it by."""

    order: str
    symbol: str
    currency: str
    exchange: str
    side: Side
    quantity: Exact
    limit: Exact
    reference: str


class OrderPlaced(Data, frozen=True):
    """The broker has it. `status` is working or done; `permanent_id` is the broker's own number for it."""

    order: str
    permanent_id: str
    status: str


class OrderClosed(Data, frozen=True):
    """Its end, the shares filled in all, and the broker's words."""

    order: str
    end: OrderEnd
    filled: Exact
    message: str


class FillSettled(Data, frozen=True):
    """One execution with its commission. `fx`: base per unit of the currency; `cash_effect` in base, negative for a BUY."""

    order: str
    execution: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    price: Exact
    fee: Money
    fx: Exact
    cash_effect: Exact


class RunSettled(Data, frozen=True):
    """Every approved order of the run is withheld or closed; counts of approved orders by their end.

    It ends a run that the desk itself caused (liquidation, approval), which has no `RunEnded`.
    """

    withheld: int
    filled: int
    unfilled: int


class RunEnded(Data, frozen=True):
    """The run's final status."""

    status: RunStatus
    message: str


class StateHashed(Data, frozen=True):
    """The hash of the ledger after the last fact of `session`, or behind sequence `seq`, which fell into that session."""

    session: Day
    state_hash: str
    seq: int | None = None


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
