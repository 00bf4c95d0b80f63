"""A log of a desk at its first slot, written by hand except for what the gate owes."""

from typing import Any

from services.gate.decisions import AUTHOR, decide
from shared.ledger.owed import Owed, next_of, owed
from shared.protocol.envelope import Draft, Event
from shared.protocol.events import (
    AccountReconciled,
    BookValued,
    Breach,
    Difference,
    MarketObserved,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrdersUsed,
    ProposalMade,
    ReconciliationFailed,
    RunSettled,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.instants import compact
from shared.protocol.market import ExchangeSession, ProposedOrder, Quote, QuoteKind
from shared.protocol.money import Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import OrderEnd, StopReason
from tests.support.scribe import CLOSE, OPEN, POLICY, SESSION, SLOT, Scribe

PRICES = {"AAA": "100", "BBB": "50"}


def observed(purpose: str, at: str, prices: dict[str, str], closes_at: str = CLOSE, is_open: bool = True) -> MarketObserved:
    """An observation of last prices in USD."""
    return MarketObserved(
        purpose=purpose,
        quotes=tuple(Quote(symbol, "USD", QuoteKind.SIM, at, last=Exact(price)) for symbol, price in prices.items()),
        ticks={f"{symbol}:USD": Exact("0.01") for symbol in prices},
        fx={},
        sessions={"SMART": ExchangeSession(is_open, SESSION, OPEN, closes_at)},
    )


class Walk(Scribe):
    """A desk with the book `alpha`, 10,000 USD in it, whose run of the first slot has begun."""

    def __init__(self, policy: Policy = POLICY, names: tuple[str, ...] = ("AAA:USD", "BBB:USD"), *, dry: bool = False) -> None:
        super().__init__()
        self.open_desk("alpha", policy=policy)
        self.clock("slot", SLOT, ("alpha",), dry=("alpha",) if dry else ())
        self.run = self.start_run("alpha", names)

    @property
    def item(self) -> Owed:
        """What the gate owes next."""
        found = next_of(owed(self.state), AUTHOR)
        assert found is not None
        return found

    def decided(self) -> Draft:
        """What the gate decides next."""
        draft = decide(self.state, self.item)
        assert draft is not None
        return draft

    def take(self) -> Event:
        """Store what the gate decides next."""
        draft = self.decided()
        assert draft.as_of == self.state.seq
        return self.write("gate", draft.data, draft.about, book=draft.book, run=draft.run, k=draft.k, mode=draft.mode)

    def of_run(self, author: str, data: Any, k: int = 1) -> Event:
        """An event of the run."""
        return self.write(author, data, self.run, book="alpha", run=self.run, k=k)

    def seen(self, prices: dict[str, str] | None = None, *, failed: bool = False, **session: Any) -> "Walk":
        """The executor reconciles and observes."""
        line = Difference("AAA:USD", "1", "0")
        account = ReconciliationFailed("DU1", (line,)) if failed else AccountReconciled("DU1", {"USD": Exact(5)}, {}, ())
        self.of_run("executor", account)
        self.of_run("executor", observed("run", self.state.now or SLOT, PRICES if prices is None else prices, **session))
        return self

    def proposed(self, *orders: ProposedOrder, prices: dict[str, str] | None = None, **session: Any) -> "Walk":
        """From the observation to the evidence of a proposal."""
        self.seen()
        self.take()
        self.take()
        self.of_run("agent", ProposalMade("scripted", orders, "", StopReason.SUBMITTED))
        found = observed("verdict", self.state.now or SLOT, PRICES if prices is None else prices, **session)
        self.of_run("executor", found, k=2)
        return self

    def closing(self, prices: dict[str, str]) -> "Walk":
        """The close step with its observation."""
        self.clock("close", CLOSE)
        self.write("executor", observed("watch", CLOSE, prices), f"{DESK_BOOK}-{compact(CLOSE)}")
        return self

    def looks(self) -> None:
        """The account's reconciliation at a watch step."""
        about = f"{DESK_BOOK}-{compact(self.state.now or SLOT)}"
        self.write("executor", AccountReconciled("DU1", {"USD": Exact(5)}, {}, ()), about)

    def watched_breach(self) -> None:
        """A valuation of the book sees the drawdown limit reached, whatever the market shows to others."""
        at = self.state.now or SLOT
        breach = Breach(1, at, "q", None, ("e",))
        data = BookValued("watch", Exact(0), (), Exact(1), Exact(10000), None, None, OrdersUsed(0, 0), (), "", breach)
        self.write("gate", data, f"alpha-{compact(at)}", book="alpha")

    def refused(self, order: str) -> None:
        """The exchange takes an order and fills nothing of it; its run is over."""
        run = order.rpartition("-")[0]
        row = self.state.runs[run].orders[order]
        data = OrderIntended(order, row.symbol, "USD", "SMART", row.side, row.quantity, row.limit, order)
        self.write("executor", data, order, book="alpha", run=run)
        self.write("executor", OrderPlaced(order, "1", "done"), order, book="alpha", run=run)
        self.write("executor", OrderClosed(order, OrderEnd.REJECTED, Exact(0), ""), order, book="alpha", run=run)
        self.write("executor", RunSettled(0, 0, 1), run, book="alpha", run=run)
