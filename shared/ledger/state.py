"""The folded state of a desk. Values are frozen; folding gives a new state and shares what did not change.

`Book`, `Account` and `Halt` are the hashed part; `Run`, `Step`, `Mark` and the other work fields say how far each piece of work
has come, from which `shared.ledger.owed` derives what is still to do.
"""

from enum import StrEnum

import msgspec

from shared.ledger.account_state import Account, Approval
from shared.protocol.envelope import Event
from shared.protocol.events import ClockAdvanced, KeysAdopted, PolicyAdopted, RunArgs
from shared.protocol.ids import index_of
from shared.protocol.market import Side, instrument_key
from shared.protocol.money import ZERO, Exact
from shared.protocol.policy import Commission


class OrderState(StrEnum):
    """How far an approved order has come."""

    APPROVED = "approved"
    INTENDED = "intended"
    WORKING = "working"
    DONE = "done"
    WITHHELD = "withheld"
    CLOSED = "closed"

    @property
    def is_open(self) -> bool:
        """Whether it still reserves cash or shares."""
        return self not in {OrderState.WITHHELD, OrderState.CLOSED}


class LedgerOrder(msgspec.Struct, frozen=True):
    """An approved order.

    `fx`: base per unit of its currency at the verdict; `schedule`: its fees, None if unknown; `counted`: month and exchange day
    in which it counts; `cancel`: an operator wants it cancelled.
    """

    id: str
    book: str
    run: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    limit: Exact
    fx: Exact
    schedule: Commission | None
    counted: tuple[str, str]
    state: OrderState = OrderState.APPROVED
    filled: Exact = ZERO
    permanent_id: str | None = None
    cancel: bool = False

    @property
    def key(self) -> str:
        """`SYMBOL:CURRENCY`."""
        return instrument_key(self.symbol, self.currency)

    @property
    def index(self) -> int:
        """The order's 1-based index in its proposal."""
        return index_of(self.id)

    @property
    def remaining(self) -> Exact:
        """Shares not yet filled."""
        return Exact(self.quantity - self.filled)


class Holding(msgspec.Struct, frozen=True):
    """Shares held and their cost in base currency (buys add their full cash cost, sells remove proportionally)."""

    quantity: Exact
    cost: Exact


class Counter(msgspec.Struct, frozen=True):
    """Orders used in one period; `period` is `YYYY-MM` or `YYYY-MM-DD`, empty before the first."""

    period: str = ""
    used: int = 0

    def within(self, period: str) -> int:
        """Orders used in `period`: nothing of an older one counts."""
        return self.used if self.period == period else 0


class Halt(msgspec.Struct, frozen=True):
    """A halt in force: `kind` full or reduce_only."""

    kind: str
    reason: str


class Book(msgspec.Struct, frozen=True):
    """Virtual capital of one proposal source, in the desk's base currency.

    `holdings` by instrument key; `orders` the open ones by id, `runs` those not ended; `counts` and `digest`
    stand for ended runs: d = SHA-256(d ‖ id ‖ status). `value` is that of the newest `BookValued` of any kind. `loss_start` is
    the value from which the loss of the exchange day `loss_day` counts, `loss_flows` what deposits and withdrawals since add to
    it. `deposited` and `withdrawn` are sums of all flows; `paused` says why its source is not asked, if it is not.
    """

    name: str
    source: str
    currency: str
    cash: Exact = ZERO
    deposited: Exact = ZERO
    withdrawn: Exact = ZERO
    fees: Exact = ZERO
    holdings: dict[str, Holding] = {}
    orders: dict[str, LedgerOrder] = {}
    peak: Exact = ZERO
    units: Exact = ZERO
    previous: Exact | None = None
    month: Counter = Counter()
    day: Counter = Counter()
    halt: Halt | None = None
    runs: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    digest: str = ""
    value: Exact | None = None
    quoted: str = ""
    loss_day: str = ""
    loss_start: Exact | None = None
    loss_flows: Exact = ZERO
    closed: bool = False
    paused: str = ""

    @property
    def net_deposits(self) -> Exact:
        """What was put in less what was taken out."""
        return Exact(self.deposited - self.withdrawn)

    def held(self, key: str) -> Exact:
        """Shares of an instrument in the book."""
        holding = self.holdings.get(key)
        return holding.quantity if holding else ZERO


class Run(msgspec.Struct, frozen=True):
    """One run not yet ended: which of its events stand in the log. Events are kept where later steps need their data."""

    id: str
    book: str
    source: str
    slot: str
    session: str
    names: tuple[str, ...]
    started: Event
    reconciled: Event | None = None
    observed: Event | None = None
    valued: Event | None = None
    cleared: Event | None = None
    stopped: Event | None = None
    proposal: Event | None = None
    failed: Event | None = None
    evidence: Event | None = None
    verdict: Event | None = None
    orders: dict[str, LedgerOrder] = {}
    settled: Event | None = None


class Mark(msgspec.Struct, frozen=True):
    """The hashed part of the state as it was at one place of the log, kept until it is hashed.

    With `seq` behind that sequence (`about` is its number), else behind the last fact of a close step (`about` is the session).
    `at` is the time and `cause` the id of the event that its hashes name.
    """

    about: str
    session: str
    at: str
    cause: str
    account: Account
    books: dict[str, Book]
    halts: dict[str, Halt]
    seq: int | None = None


class Claims(msgspec.Struct, frozen=True):
    """Who gave which hash for one place of the log: (author, hash), each pair once."""

    told: tuple[tuple[str, str], ...] = ()

    @property
    def differ(self) -> bool:
        """Whether two of them are not the same."""
        return len({found for _, found in self.told}) > 1


class Step(msgspec.Struct, frozen=True):
    """The step of desk time that is going on. `observed`, `valued`, `mark`, `hashed` concern a close step; `mark` is the state
    behind its last fact, once it stands in the log. `failures` counts failed reconciliations outside of runs."""

    clock: ClockAdvanced
    event: Event
    started: tuple[str, ...] = ()
    observed: Event | None = None
    valued: tuple[str, ...] = ()
    mark: Mark | None = None
    hashed: tuple[str, ...] = ()
    failures: int = 0


class State(msgspec.Struct, frozen=True):
    """Everything that folding the log gives. `seq` is the last sequence folded; `problem` says that the log was lost.

    `marks` are the places whose hash the journal still owes, `claims` the hashes given for the newest places, `differing` those
    among them whose hashes differ and on which nothing was ordered yet. `signed`: the first event carries a signature, so keys
    are adopted before anything else. `keys` are those in force, adopted at sequence `keys_seq`. `policy_seq` is where the policy
    in force stands. `approvals` by order id are the newest orders that needed approval and that nobody refused.
    """

    seq: int = 0
    args: RunArgs | None = None
    step: Step | None = None
    policy: PolicyAdopted | None = None
    policy_seq: int = 0
    account: Account = Account()
    books: dict[str, Book] = {}
    halts: dict[str, Halt] = {}
    runs: dict[str, Run] = {}
    approvals: dict[str, Approval] = {}
    problem: str | None = None
    marks: tuple[Mark, ...] = ()
    claims: dict[str, Claims] = {}
    differing: tuple[str, ...] = ()
    signed: bool = False
    keys: KeysAdopted | None = None
    keys_seq: int = 0

    @property
    def now(self) -> str | None:
        """Desk time, None before the first `ClockAdvanced`."""
        return self.step.clock.to if self.step else None
