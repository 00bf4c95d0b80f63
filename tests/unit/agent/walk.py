"""A log of one book's first run, written by hand up to any stage."""

from services.agent.sources import Proposal
from shared.ledger.owed import Owed, next_of, owed
from shared.ledger.state import Run
from shared.protocol.envelope import Draft, Event
from shared.protocol.events import (
    AccountReconciled,
    BookArgs,
    BookOpened,
    BookValued,
    CashDeposited,
    Difference,
    HoldingValued,
    MarketObserved,
    OrdersUsed,
    PolicyAdopted,
    ReconciliationFailed,
    RunArgs,
    RunCleared,
    RunSettled,
    RunStopped,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import ExchangeSession, Quote, QuoteKind
from shared.protocol.money import Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import RunStatus
from tests.support.scribe import CLOSE, OPEN, POLICY, SESSION, SLOT, Scribe

SESSIONS = (SESSION, "2022-10-04", "2022-10-05")
PRICES = {"AAA": "100", "BBB": "50"}


def quote(symbol: str, price: str) -> Quote:
    """A quote of the simulator: bid and ask around the last price."""
    return Quote(symbol, "USD", QuoteKind.SIM, SLOT, bid=Exact(price), ask=Exact(price), last=Exact(price), close=None)


def market(purpose: str, prices: dict[str, str]) -> MarketObserved:
    """An observation of these prices."""
    return MarketObserved(
        purpose=purpose,
        quotes=tuple(quote(symbol, price) for symbol, price in prices.items()),
        ticks={f"{symbol}:USD": Exact("0.01") for symbol in prices},
        fx={},
        sessions={"SMART": ExchangeSession(open=True, day=SESSION, opens_at=OPEN, closes_at=CLOSE)},
    )


class Walk(Scribe):
    """A desk whose books are named as their sources, at the slot of its first session."""

    def __init__(self, *kinds: str, argument: str = "", policy: Policy = POLICY, dry: tuple[str, ...] = ()) -> None:
        super().__init__()
        books = tuple(BookArgs(kind, kind, argument, Exact(10000)) for kind in kinds)
        self.clock("open", OPEN, args=RunArgs("0" * 64, SESSIONS, books, 0, "p"))
        self.write("desk", PolicyAdopted(policy, (), "p", "first start"), DESK_BOOK)
        for book in kinds:
            self.write("desk", BookOpened(book, "USD"), book, book=book)
            self.write("desk", CashDeposited(Exact(10000), "opening"), book, book=book)
        self.clock("slot", SLOT, due=kinds, dry=dry)

    @property
    def item(self) -> Owed:
        """What the agent owes next."""
        found = next_of(owed(self.state), "agent")
        assert found is not None
        return found

    @property
    def run(self) -> Run:
        """The only run."""
        (run,) = self.state.runs.values()
        return run

    def take(self, draft: Draft) -> Event:
        """Store what the agent decided."""
        return self.write("agent", draft.data, draft.about, book=draft.book, run=draft.run, k=draft.k, mode=draft.mode)

    def of_run(self, author: str, data: object, k: int = 1) -> Event:
        """An event of the only run."""
        return self.write(author, data, self.run.id, book=self.run.book, run=self.run.id, k=k)  # type: ignore[arg-type]

    def cleared(self, prices: dict[str, str] | None = None, held: dict[str, str] | None = None, failed: bool = False) -> "Walk":
        """The run as the executor and the gate bring it to its source."""
        line = Difference("AAA:USD", "1", "0")
        account = ReconciliationFailed("DU1", (line,)) if failed else AccountReconciled("DU1", {"USD": Exact(5)}, {}, ())
        self.of_run("executor", account)
        self.of_run("executor", market("run", PRICES if prices is None else prices))
        holdings = tuple(HoldingValued(name, "USD", Exact(shares), None, None) for name, shares in (held or {}).items())
        valued = BookValued(
            "run", Exact(9000), holdings, Exact(10000), Exact(10000), None, Exact(0), OrdersUsed(0, 0), ("evidence",), ""
        )
        self.of_run("gate", valued)
        self.of_run("gate", RunCleared(Exact(10000)))
        return self

    def stopped(self, status: RunStatus, message: str) -> "Walk":
        """The gate stops the run."""
        self.of_run("gate", RunStopped(status, message))
        return self

    def settled(self, proposal: Draft, *, filled: int = 0, unfilled: int = 0, withheld: int = 0) -> "Walk":
        """The proposal is judged and its orders have ended; the verdict itself approves nothing here."""
        self.take(proposal)
        self.of_run("executor", market("verdict", PRICES), k=2)
        self.of_run("gate", Verdict("proposal", (), (), Exact(10000), Exact(0), "p", "1", (), SLOT))
        self.of_run("executor", RunSettled(withheld, filled, unfilled))
        return self


NOTHING = Proposal((), "nothing to do")
