"""An order's story told input by input, with a clock that only the test moves."""

from datetime import UTC, datetime, timedelta
from typing import Any

from services.executor.ibkr.life import (
    Ask,
    Book,
    BookFee,
    CancelSent,
    Close,
    CommissionSeen,
    Doubted,
    Effect,
    ErrorSeen,
    ExecutionSeen,
    Input,
    Life,
    Phase,
    Placed,
    Sent,
    StatusSeen,
    Swept,
    TimePassed,
)
from services.executor.ibkr.lifecycle import step
from shared.protocol.money import Exact, Money

START = datetime(2022, 10, 4, 14, 30, tzinfo=UTC)


class Story:
    """One order of 10; every method is one input and gives back what followed, in words."""

    def __init__(self, quantity: str = "10") -> None:
        self.life = Life("ref", Exact(quantity))
        self.now = START
        self.effects: list[Effect] = []

    def take(self, item: Input) -> list[str]:
        """Feed one input."""
        change = step(self.life, item, self.now)
        self.life = change.life
        self.effects += change.effects
        return [words(effect) for effect in change.effects]

    def sent(self) -> "Story":
        self.take(Sent())
        return self

    def working(self) -> "Story":
        """Sent and acknowledged."""
        self.sent().status("Submitted")
        return self

    def status(self, status: str, filled: str = "0", perm_id: int = 1, why_held: str = "") -> list[str]:
        return self.take(StatusSeen(status, perm_id, Exact(filled), why_held))

    def executed(self, quantity: str, execution: str = "e1.01.01", price: str = "190") -> list[str]:
        return self.take(ExecutionSeen(execution, Exact(quantity), Exact(price)))

    def paid(self, execution: str = "e1.01.01", fee: str = "1") -> list[str]:
        return self.take(CommissionSeen(execution, Money(Exact(fee), "USD")))

    def error(self, code: int, said: str = "") -> list[str]:
        return self.take(ErrorSeen(code, said))

    def cancel(self) -> list[str]:
        return self.take(CancelSent())

    def doubted(self) -> list[str]:
        return self.take(Doubted("disconnected"))

    def swept(self, status: str | None, **more: Any) -> list[str]:
        return self.take(Swept(status, **more))

    def later(self, seconds: float) -> list[str]:
        """Time passes without anything coming."""
        self.now += timedelta(seconds=seconds)
        return self.take(TimePassed())

    def phase(self) -> Phase:
        return self.life.phase

    @property
    def booked(self) -> Exact:
        """Shares booked in all, each correction in the place of what it corrects."""
        kept: dict[str, Exact] = {}
        for effect in self.effects:
            if isinstance(effect, Book):
                if effect.replaces is not None:
                    del kept[effect.replaces]
                assert effect.execution not in kept, "booked twice"
                kept[effect.execution] = effect.quantity
        return Exact(sum(kept.values()))


def words(effect: Effect) -> str:
    """An effect in a few words."""
    match effect:
        case Placed():
            return f"placed {effect.perm_id}"
        case Book():
            said = f"book {effect.execution} {effect.quantity} fee {effect.fee.amount if effect.fee else 'pending'}"
            return said + (f" for {effect.replaces}" if effect.replaces else "") + (" late" if effect.late else "")
        case BookFee():
            return f"fee {effect.execution} {effect.fee.amount}"
        case Ask():
            return "ask"
        case Close():
            return f"close {effect.end} {effect.filled}"
        case _:
            return f"alarm {effect.kind}"
