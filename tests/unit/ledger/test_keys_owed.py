"""Keys are owed first in a log whose first event is signed, and only there."""

from nacl.signing import SigningKey

from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.owed import owed
from shared.ledger.state import State
from shared.protocol.envelope import Draft, Event, read_event, seal
from shared.protocol.events import BookArgs, ClockAdvanced, Data, KeysAdopted, RunArgs
from shared.protocol.money import Exact
from shared.protocol.signing import sign

OPEN, SESSION = "2022-10-03T13:30:00.000000Z", "2022-10-03"
ARGS = RunArgs("0" * 64, (SESSION,), (BookArgs("alpha", "hold", "", Exact(1)),), 0, "p")
KEY = SigningKey(bytes(32))


def event(seq: int, data: Data, *, signed: bool) -> Event:
    draft = Draft("desk", "_desk", str(seq), OPEN, seq - 1, data)  # type: ignore[arg-type]
    payload = seal(draft, desk="d", instance="1", n=seq, prev=None)
    return read_event(seq, draft.subject, sign(payload, KEY) if signed else payload)


def types(state: State) -> list[str]:
    return [item.type for item in owed(state)]


def test_a_signed_first_event_owes_its_keys_before_anything_else() -> None:
    state = apply(State(), event(1, ClockAdvanced(OPEN, "open", SESSION, (), ARGS), signed=True))
    assert types(state) == ["KeysAdopted", "PolicyAdopted", "BookOpened", "CashDeposited"]
    before = state_hash(state)
    state = apply(state, event(2, KeysAdopted({"desk": "U"}, "O", "first start"), signed=True))
    assert types(state) == ["PolicyAdopted", "BookOpened", "CashDeposited"]
    assert (state.keys, state.keys_seq) == (KeysAdopted({"desk": "U"}, "O", "first start"), 2)
    assert state_hash(state) == before


def test_an_unsigned_one_owes_none() -> None:
    state = apply(State(), event(1, ClockAdvanced(OPEN, "open", SESSION, (), ARGS), signed=False))
    assert types(state) == ["PolicyAdopted", "BookOpened", "CashDeposited"]
