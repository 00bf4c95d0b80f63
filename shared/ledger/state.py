"""The folded state of a desk. Values are frozen; folding gives a new state and shares what did not change.

`Book`, `Account` and `Halt` are the hashed part; `Run`, `Step`, `Mark` and the other work fields say how far each piece of work
has come, from which `shared.ledger.owed` derives what is still to do.
"""

import msgspec

from shared.ledger.account_state import Account, Approval
from shared.ledger.parts import (
    APPROVAL,
    CAUSED,
    EVALUATOR_FAILED,
    FULL,
    KILL_SWITCH,
    LIQUIDATION,
    ORDERED,
    PROPOSAL,
    REDUCE_ONLY,
    Counter,
    Halt,
    Holding,
    LedgerOrder,
    OrderState,
    Sale,
)
from shared.protocol.envelope import Event
from shared.protocol.events import Breach, ClockAdvanced, KeysAdopted, PolicyAdopted, RunArgs
from shared.protocol.ids import DESK_BOOK, run_of
from shared.protocol.money import ZERO, Exact

__all__ = [
    "APPROVAL",
    "CAUSED",
    "EVALUATOR_FAILED",
    "FULL",
    "KILL_SWITCH",
    "LIQUIDATION",
    "ORDERED",
    "PROPOSAL",
    "REDUCE_ONLY",
    "Account",
    "Approval",
    "Book",
    "Claims",
    "Counter",
    "Halt",
    "Holding",
    "LedgerOrder",
    "Mark",
    "OrderState",
    "Run",
    "Sale",
    "State",
    "Step",
    "find_order",
    "halts_of",
    "whole_holdings",
]


class Book(msgspec.Struct, frozen=True):
    """Virtual capital of one proposal source, in the desk's base currency.

    `holdings` by instrument key; `orders` the open ones by id, `runs` those not ended; `counts` and `digest`
    stand for ended runs: d = SHA-256(d ‖ id ‖ status). `value` is that of the newest `BookValued` of any kind. `loss_start` is
    the value from which the loss of the exchange day `loss_day` counts, `loss_flows` what deposits and withdrawals since add to
    it. `deposited` and `withdrawn` are sums of all flows; `paused` says why its source is not asked, if it is not.

    `breach` as in the newest `BookValued`; `unknown`: that one has no value; `blind`: reduce-only since the gate could not
    evaluate, until a value is known again. `caused` is the digest of ended runs that the desk caused, apart because they end
    beside the others.
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
    breach: Breach | None = None
    unknown: bool = False
    blind: bool = False
    sale: Sale | None = None
    caused: str = ""
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
    """One run not yet ended: which of its events stand in the log. Events are kept where later steps need their data.

    `kind`: proposal, or liquidation or approval of a run that the desk caused, which `started` with its observation; `approval`
    is what the latter judges.
    """

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
    tripped: Event | None = None
    kind: str = PROPOSAL
    approval: Approval | None = None

    @property
    def dry(self) -> bool:
        """Whether it only tries: nothing of it reaches the broker or the live state."""
        return self.started.envelope.mode == "dry"


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
    """The step of desk time that is going on. `observed` and `valued` concern a watch or close step, `reconciled` a watch step,
    `mark` and `hashed` a close step; `mark` is the state behind its last fact, once it stands in the log. `tripped`: the books
    of halts that the gate tripped outside of runs; `failures` counts failed reconciliations outside of runs."""

    clock: ClockAdvanced
    event: Event
    started: tuple[str, ...] = ()
    observed: Event | None = None
    valued: tuple[str, ...] = ()
    mark: Mark | None = None
    hashed: tuple[str, ...] = ()
    reconciled: Event | None = None
    tripped: tuple[str, ...] = ()
    failures: int = 0


class State(msgspec.Struct, frozen=True):
    """Everything that folding the log gives. `seq` is the last sequence folded; `problem` says that the log was lost.

    `marks` are the places whose hash the journal still owes, `claims` the hashes given for the newest places, `differing` those
    among them whose hashes differ and on which nothing was ordered yet. `signed`: the first event carries a signature, so keys
    are adopted before anything else. `keys` are those in force, adopted at sequence `keys_seq`. `policy_seq` is where the policy
    in force stands. `approvals` by order id are the newest orders that needed approval and that nobody refused. `attempts`: runs
    that the desk caused in a minute, by `<book>-<letter>`.
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
    attempts: dict[str, Counter] = {}

    @property
    def now(self) -> str | None:
        """Desk time, None before the first `ClockAdvanced`."""
        return self.step.clock.to if self.step else None


def halts_of(state: State, book: Book) -> tuple[Halt, ...]:
    """The halts in force for a book: the desk's, its own, and that of an evaluator that failed."""
    blind = Halt(REDUCE_ONLY, "evaluator failed: the value is unknown") if book.blind else None
    return tuple(halt for halt in (state.halts.get(DESK_BOOK), book.halt, blind) if halt is not None)


def whole_holdings(book: Book) -> tuple[str, ...]:
    """The instruments of which a book holds a whole share; a fraction is dust, and a book of dust is flat."""
    return tuple(key for key, row in book.holdings.items() if row.quantity >= 1)


def find_order(state: State, order: str) -> LedgerOrder | None:
    """An order of a run that has not ended; None for any other."""
    run = state.runs.get(run_of(order))
    return run.orders.get(order) if run else None
