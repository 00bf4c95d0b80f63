"""Places of the log whose state is hashed, and what was said of it: the fold's part in `StateHashed`.

A mark keeps the hashed part of the state, which costs nothing as states share what did not change, so that whoever owes a hash
can compute it when it gets to it, whatever has happened since.
"""

from typing import Final

from msgspec.structs import replace

from shared.ledger.periods import exchange_day_of
from shared.ledger.state import Claims, Mark, State, Step
from shared.ledger.trips import trip_of
from shared.protocol.envelope import Event
from shared.protocol.events import StateHashed
from shared.protocol.ids import about_of

HASHING_AUTHORS: Final = ("gate", "executor")
"""Who hashes every close step before it is over; the journal does so when it gets to it."""
JOURNAL: Final = "journal"
HASH_EVERY: Final = 1000
"""The journal hashes the state behind every so many sequences."""
MAX_MARKS: Final = 1000
"""A journal that is further behind leaves the oldest out; it bounds what a log without any journal keeps in memory."""
KEPT_CLAIMS: Final = 100
"""So many newest places at least, and every one whose hashes differ, so that nothing is ordered twice for one."""
MOST_CLAIMS: Final = 2 * KEPT_CLAIMS
MAX_TOLD: Final = 6


def unvalued(state: State, step: Step) -> list[str]:
    """Open books without a valuation in this close step."""
    return [book.name for book in state.books.values() if not book.closed and book.name not in step.valued]


def marked(before: State, after: State, event: Event) -> State:
    """`after` with a mark for each place that lies behind `event`: a full thousand of sequences, a complete close step.

    A thousandth message that is no event (the bus drops it) changes nothing, so the state before the next event counts.
    """
    done, now = before.seq // HASH_EVERY, after.seq // HASH_EVERY
    for thousand in range(done + 1, now + 1):
        seq = thousand * HASH_EVERY
        after = _with(after, _mark_at(after if seq == after.seq else before, seq, event))
    step = after.step
    if step is None or step.mark is not None or not _is_complete(after, step):
        return after
    mark = _mark(after, step.clock.session, step.clock.session, step.clock.to, step.event.id, None)
    return _with(replace(after, step=replace(step, mark=mark)), mark)


def _is_complete(state: State, step: Step) -> bool:
    """Whether a close step has its last fact but the hashes."""
    if step.clock.step != "close" or step.observed is None or state.runs or unvalued(state, step):
        return False
    policy = state.policy.policy if state.policy else None
    return policy is None or all(trip_of(policy, book) is None for book in state.books.values())


def _mark_at(state: State, seq: int, event: Event) -> Mark:
    session = state.step.clock.session if state.step else exchange_day_of(event.at)
    return _mark(state, str(seq), session, event.at, event.id, seq)


def _mark(state: State, about: str, session: str, at: str, cause: str, seq: int | None) -> Mark:
    return Mark(about, session, at, cause, state.account, state.books, state.halts, seq)


def _with(state: State, mark: Mark) -> State:
    return replace(state, marks=(*state.marks, mark)[-MAX_MARKS:])


def hashed(state: State, event: Event) -> State:
    """The state after a `StateHashed`: whose it is, what it claims, and whether that differs from what others claim."""
    data = event.expect(StateHashed)
    about = data.session if data.seq is None else str(data.seq)
    if event.author == JOURNAL:
        state = replace(state, marks=tuple(mark for mark in state.marks if mark.about != about))
    step = state.step
    if step is not None and about == step.clock.session:
        state = replace(state, step=replace(step, hashed=(*step.hashed, event.author)))
    return _claimed(state, about, (event.author, data.state_hash))


def _claimed(state: State, about: str, claim: tuple[str, str]) -> State:
    """With one more claim about a place."""
    known = state.claims.get(about, Claims())
    if claim in known.told or len(known.told) >= MAX_TOLD:
        return state
    claims = replace(known, told=(*known.told, claim))
    new = claims.differ and not known.differ
    kept = _kept({**state.claims, about: claims})
    return replace(state, claims=kept, differing=(*state.differing, about) if new else state.differing)


def _kept(claims: dict[str, Claims]) -> dict[str, Claims]:
    """Without the oldest ones that nothing hangs on; taken out only now and then, as looking for them costs."""
    if len(claims) <= MOST_CLAIMS:
        return claims
    agreed = [about for about, found in claims.items() if not found.differ]
    old = set(agreed[:-KEPT_CLAIMS])
    return {about: found for about, found in claims.items() if about not in old}


def halted(state: State, event: Event) -> State:
    """The state after the journal's own `HaltOrdered`, which is about a place whose hashes differ; any other changes nothing."""
    about = about_of(event.id)
    if event.author != JOURNAL or about not in state.differing:
        return state
    return replace(state, differing=tuple(other for other in state.differing if other != about))
