"""A log of the desk that is folded as it grows, and the events of others that tests put into it."""

from services.desk.steps import Plan, next_draft
from services.desk.tally import DeskState, apply
from shared.ledger.state import OrderState
from shared.protocol.envelope import Draft, Event, read_event, seal
from shared.protocol.events import (
    BookArgs,
    BookValued,
    Decision,
    EventData,
    FillSettled,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrdersUsed,
    OrderWithheld,
    PolicyAdopted,
    Reason,
    RunArgs,
    RunStarted,
    Verdict,
)
from shared.protocol.ids import run_id
from shared.protocol.market import Instrument, Side
from shared.protocol.money import Exact, Money
from shared.protocol.policy import Commission, Limits, Policy
from shared.protocol.reasons import OrderEnd, Rule, Withheld

SESSIONS = ("2022-11-23", "2022-11-25")
"""The second one ends early: it is the Friday after Thanksgiving."""


def plan_of(*books: str, sessions: tuple[str, ...] = SESSIONS) -> Plan:
    limits = Limits(month_timezone="America/New_York")
    schedule = (Commission("USD", Exact("0.005"), Exact(1), Exact(1)),)
    policy = Policy("USD", limits, universe=(Instrument("AAPL", "SMART", "USD"),), commission=schedule)
    adopted = PolicyAdopted(policy, ("month_timezone",), "f" * 64, "start of the run")
    rows = tuple(BookArgs(book, "hold", "", Exact(10_000)) for book in books or ("alpha",))
    return Plan(RunArgs("d" * 64, sessions, rows, 0, adopted.policy_hash), adopted)


class History:
    """Events in order, with the state that they fold to."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.state = DeskState()
        self.events: list[Event] = []

    def append(self, draft: Draft) -> Event:
        seq = self.state.ledger.seq + 1
        event = read_event(seq, draft.subject, seal(draft, desk="desk", instance="test", n=seq, prev=None))
        self.events.append(event)
        self.state = apply(self.state, event)
        return event

    def step(self) -> Event:
        """Append what the desk owes now; fails if it owes nothing."""
        draft = next_draft(self.state.ledger, self.plan)
        assert draft is not None
        return self.append(draft)

    def opens(self) -> "History":
        """Append the whole opening step."""
        for _ in range(2 + 2 * len(self.plan.args.books)):
            self.step()
        return self

    def add(self, author: str, book: str, about: str, data: EventData, run: str | None = None, k: int = 1) -> Event:
        now = self.state.ledger.now
        assert now is not None
        return self.append(Draft(author, book, about, now, self.state.ledger.seq, data, run=run, k=k))

    @property
    def session(self) -> str:
        step = self.state.ledger.step
        assert step is not None
        return step.clock.session

    def started(self, book: str) -> str:
        """A run begins; returns its id."""
        run = run_id(self.session, "10:30", book)
        now = self.state.ledger.now
        assert now is not None
        self.add("agent", book, run, RunStarted("hold", now, self.session, ()), run)
        return run

    def judged(self, run: str, book: str, *decisions: Decision) -> None:
        verdict = Verdict("proposal", decisions, (), Exact(10_000), Exact(0), "f" * 64, "1", (), "2022-11-23T15:35:00.000000Z")
        self.add("gate", book, run, verdict, run)

    def placed(self, run: str, book: str, index: int) -> str:
        """An approved order goes to the broker and rests there; returns its id."""
        order = f"{run}-{index}"
        intended = OrderIntended(order, "AAPL", "USD", "SMART", Side.BUY, Exact(10), Exact(100), order)
        self.add("executor", book, order, intended, run)
        self.add("executor", book, order, OrderPlaced(order, str(index), OrderState.WORKING.value), run)
        return order

    def filled(self, order: str, book: str, shares: int, execution: str = "e1") -> None:
        run = order.rpartition("-")[0]
        cash = Exact(-100 * shares - 1)
        fee = Money(Exact(1), "USD")
        data = FillSettled(order, execution, "AAPL", "USD", Side.BUY, Exact(shares), Exact(100), fee, Exact(1), cash)
        self.add("executor", book, execution, data, run)

    def ended(self, order: str, book: str, end: OrderEnd, filled: int) -> None:
        run = order.rpartition("-")[0]
        self.add("executor", book, order, OrderClosed(order, end, Exact(filled), ""), run)

    def withheld(self, order: str, book: str, reason: Withheld) -> None:
        run = order.rpartition("-")[0]
        self.add("executor", book, order, OrderWithheld(order, reason, ""), run)

    def valued(self, book: str, value: str | None, about: str) -> None:
        """A closing valuation."""
        amount = None if value is None else Exact(value)
        data = BookValued("close", Exact(0), (), amount, Exact(10_000), None, None, OrdersUsed(0, 0), (), "")
        self.add("gate", book, about, data)


def approves(index: int, run: str) -> Decision:
    return _decision(index, approved=True, reasons=(), order=f"{run}-{index}")


def blocks(index: int, *rules: Rule) -> Decision:
    reasons = tuple(Reason(rule, None, None, None, "") for rule in rules)
    return _decision(index, approved=False, reasons=reasons, order=None)


def _decision(index: int, *, approved: bool, reasons: tuple[Reason, ...], order: str | None) -> Decision:
    return Decision(
        index=index,
        symbol="AAPL",
        currency="USD",
        side="BUY",
        quantity=Exact(10),
        limit=Exact(100),
        approved=approved,
        needs_approval=False,
        notional=Exact(1000),
        commission=Exact(1),
        fx=Exact(1),
        reasons=reasons,
        largest=None if approved else Exact(0),
        order=order,
    )
