"""What the gate says: values, halts of its own, and verdicts."""

from shared.protocol.facts.base import Data
from shared.protocol.instants import Instant
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule, RunStatus


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
