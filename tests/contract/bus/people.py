"""Participants whose state is the ids they folded, and drafts for them to append."""

from collections.abc import Awaitable, Callable

import msgspec

from shared.bus.participant import Participant
from shared.bus.ports import Log, Stored
from shared.protocol.envelope import Draft, Envelope, Event, seal
from shared.protocol.events import CashDeposited, HaltOrdered, OrderIntended, RunEnded, StateHashed
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import RunStatus
from tests.contract.bus.buses import Bus

AT = "2022-10-03T14:30:00.000000Z"
Ids = tuple[str, ...]
Join = Callable[..., Awaitable[Participant[Ids]]]


def apply(state: Ids, event: Event) -> Ids:
    """Decodes the data too, as a ledger does."""
    assert event.data is not None
    return (*state, event.id)


async def join(bus: Bus, author: str, instance: str, log: Log | None = None) -> Participant[Ids]:
    """One more process, not started yet; `log` replaces the log of its own connection."""
    own_log, rpc = await bus.client()
    return Participant(log or own_log, rpc, author=author, instance=instance, desk="test", state=(), apply=apply)


def hashed(number: int, *, as_of: int = 0, state_hash: str = "0") -> Draft:
    """An event of the gate that does not depend on state."""
    return Draft("gate", DESK_BOOK, f"s{number}", AT, as_of, StateHashed("2022-10-03", state_hash))


def halt(request: str, *, as_of: int = 0) -> Draft:
    """An operator's event."""
    return Draft("desk", DESK_BOOK, request, AT, as_of, HaltOrdered(DESK_BOOK, "full", False, "test"))


def deposit(book: str, *, as_of: int) -> Draft:
    """An event of the desk that depends on state."""
    return Draft("desk", book, book, AT, as_of, CashDeposited(Exact("10000"), "test"))


def intended(order: str, *, as_of: int) -> Draft:
    """An event of the executor that depends on state."""
    data = OrderIntended(order, "AAPL", "USD", "SMART", Side.BUY, Exact("3"), Exact("138.61"), order)
    return Draft("executor", "alpha", order, AT, as_of, data)


def ended(book: str, attempt: str) -> Draft:
    """An agent's event about one book's run."""
    run = f"20221003T1030-{book}-{attempt}"
    return Draft("agent", book, run, AT, 0, RunEnded(RunStatus.OK, ""), run=run)


def sealed(draft: Draft, *, n: int, prev: str | None, instance: str = "other") -> bytes:
    """What a process would store."""
    return seal(draft, desk="test", instance=instance, n=n, prev=prev)


async def done(participant: Participant[Ids], draft: Draft) -> Event:
    """Append, which must succeed."""
    event = await participant.append(draft)
    assert event is not None
    return event


def envelope(stored: Stored | None) -> Envelope:
    """What stands around a stored event's data."""
    assert stored is not None
    return msgspec.json.decode(stored.payload, type=Envelope)
