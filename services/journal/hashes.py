"""What the journal says of the state: its hash at every mark, and a halt where others found another one. Pure."""

from typing import Final

from shared.ledger.hashing import state_hash
from shared.ledger.marks import JOURNAL as AUTHOR
from shared.ledger.owed import next_of, owed
from shared.ledger.state import State
from shared.protocol.envelope import Draft
from shared.protocol.events import HaltOrdered, StateHashed
from shared.protocol.ids import DESK_BOOK, event_id

FULL: Final = "full"


def next_draft(state: State) -> Draft | None:
    """The next event that the journal owes, None if it owes none; raises `LookupError` for one that it does not write."""
    item = next_of(owed(state), AUTHOR, resting=True)
    if item is None:
        return None
    match item.type:
        case "StateHashed":
            return _hashed(state, item.about)
        case "HaltOrdered":
            return _halted(state, item.about)
        case other:
            raise LookupError(f"the journal does not write {other}")


def _hashed(state: State, about: str) -> Draft:
    """The hash of the state as it was at a mark, at that mark's own time."""
    mark = next(mark for mark in state.marks if mark.about == about)
    data = StateHashed(mark.session, state_hash(mark), mark.seq)
    return Draft(AUTHOR, DESK_BOOK, about, mark.at, state.seq, data, cause=mark.cause)


def _halted(state: State, about: str) -> Draft:
    """A full halt of the desk that names whoever gave which hash."""
    if state.now is None:
        raise LookupError("desk time is not known before the first ClockAdvanced")
    told = state.claims[about].told
    found = ", ".join(f"{author} {claimed}" for author, claimed in sorted(told))
    reason = f"the hashes of the state about {about} differ: {found}; one of them folds the log wrongly, or is not who it says"
    cause = event_id(told[-1][0], "StateHashed", about)
    return Draft(AUTHOR, DESK_BOOK, about, state.now, state.seq, HaltOrdered(DESK_BOOK, FULL, False, reason), cause=cause)
