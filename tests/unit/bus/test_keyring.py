"""Which signatures count: those of the key in force at an event's sequence, the same in every process."""

from collections.abc import Mapping

import pytest

from shared.bus.keyring import KeyReplaced, Keyring, Signer
from shared.bus.keys import ROOT, Key, key_name
from shared.bus.ports import BusError, LogBroken, Stored
from shared.bus.prefixes import Prefixes
from shared.protocol.envelope import Draft, Event, seal
from shared.protocol.events import CancelOrdered, ClockAdvanced, Data, KeysAdopted, RunEnded, StateHashed
from shared.protocol.reasons import RunStatus
from shared.protocol.signing import OPERATOR

AT, DAY = "2022-10-03T13:30:00.000000Z", "2022-10-03"
NAMES = ("desk", "gate", "executor", "journal", "agent/alpha")
CLOCK = ClockAdvanced(AT, "open", DAY)
HASHED = StateHashed(DAY, "0")


class Desk:
    """Writes a log with real keys and reads it as one process does."""

    def __init__(self, *, required: bool = True, root: str | None = None) -> None:
        self.keys = {name: Key.make() for name in NAMES} | {ROOT: Key.make(OPERATOR)}
        self.dropped: list[tuple[int, str]] = []
        self.prefixes = Prefixes("reader", "1-reader", Keyring(required=required, root=root), self.drop)
        self.seq = 0

    def drop(self, stored: Stored, why: str) -> None:
        self.dropped.append((stored.seq, why))

    def adopted(self, **changed: Key) -> KeysAdopted:
        keys = {name: key.public for name, key in {**self.keys, **changed}.items() if name != ROOT}
        return KeysAdopted(keys, self.keys[ROOT].public, "test")

    def store(self, author: str, data: Data, about: str, *, book: str = "_desk", key: Key | None = None) -> Event | None:
        """Store one event, signed with its author's key (`key`: with another one), and read it."""
        draft = Draft(author, book, about, AT, 0, data)  # type: ignore[arg-type]
        name = ROOT if isinstance(data, KeysAdopted) else key_name(author, book)
        writer = self.prefixes.of(author, book)
        sign = (key or self.keys[name]).sign
        return self.read(draft.subject, seal(draft, desk="d", instance="1", n=writer.n + 1, prev=writer.prev, sign=sign))

    def read(self, subject: str, payload: bytes) -> Event | None:
        self.seq += 1
        found = self.prefixes.read(Stored(self.seq, subject, "id", payload))
        if found is None:
            return None
        self.prefixes.accept(*found)
        return found[1]

    def opened(self) -> "Desk":
        assert self.store("desk", CLOCK, "_desk-1")
        assert self.store("desk", self.adopted(), "_desk")
        return self


def test_what_is_signed_with_the_key_in_force_is_a_fact() -> None:
    desk = Desk().opened()
    assert desk.store("gate", HASHED, "a")
    assert desk.store("agent", RunEnded(RunStatus.OK, ""), "run", book="alpha")
    assert desk.dropped == []


@pytest.mark.parametrize("key", ["executor", "agent/alpha", "desk", ROOT])
def test_what_another_key_signed_is_dropped_and_moves_the_fence_alone(key: str) -> None:
    desk = Desk().opened()
    desk.store("gate", HASHED, "a")
    gate = desk.prefixes.of("gate", "_desk")
    before = (gate.n, gate.prev)
    assert desk.store("gate", HASHED, "b", key=desk.keys[key]) is None
    assert (gate.n, gate.prev, gate.seq) == (*before, 4)
    assert [(seq, "not signed with the key of gate" in why) for seq, why in desk.dropped] == [(4, True)]
    assert desk.store("gate", HASHED, "b")


def test_an_unsigned_event_is_dropped_once_keys_are_in_force() -> None:
    desk = Desk(required=False).opened()
    draft = Draft("gate", "_desk", "a", AT, 0, HASHED)
    assert desk.read(draft.subject, seal(draft, desk="d", instance="1", n=1, prev=None)) is None


def test_a_source_without_a_key_is_dropped() -> None:
    desk = Desk().opened()
    stranger = Key.make()
    assert desk.store("agent", RunEnded(RunStatus.OK, ""), "run", book="beta", key=stranger) is None
    assert "no key of agent/beta" in desk.dropped[0][1]


def test_a_source_cannot_sign_for_another_book() -> None:
    desk = Desk()
    desk.keys["agent/beta"] = Key.make()
    desk.opened()
    assert desk.store("agent", RunEnded(RunStatus.OK, ""), "run", book="beta", key=desk.keys["agent/alpha"]) is None


def test_before_the_keys_only_the_first_clock_event_counts() -> None:
    desk = Desk()
    assert desk.store("agent", RunEnded(RunStatus.OK, ""), "run", book="alpha") is None
    assert desk.store("desk", CLOCK, "_desk-1")
    assert desk.store("gate", HASHED, "a") is None
    assert desk.store("desk", CancelOrdered("o", "r"), "r1") is None
    assert desk.store("desk", desk.adopted(), "_desk")
    assert desk.store("gate", HASHED, "a")
    assert [seq for seq, _ in desk.dropped] == [1, 3, 4]


def test_the_first_event_is_checked_with_the_keys_behind_it() -> None:
    desk = Desk()
    assert desk.store("desk", CLOCK, "_desk-1", key=desk.keys["gate"])
    with pytest.raises(LogBroken, match="sequence 1"):
        desk.store("desk", desk.adopted(), "_desk")


def test_a_log_without_signatures_is_refused_by_a_desk_with_keys_and_taken_by_one_without() -> None:
    draft = Draft("desk", "_desk", "_desk-1", AT, 0, CLOCK)
    payload = seal(draft, desk="d", instance="1", n=1, prev=None)
    with pytest.raises(LogBroken, match="--fresh"):
        Desk().read(draft.subject, payload)
    assert Desk(required=False).read(draft.subject, payload)


def test_keys_that_the_root_did_not_sign_are_dropped() -> None:
    desk = Desk().opened()
    assert desk.store("desk", desk.adopted(gate=Key.make()), "r1", key=desk.keys["desk"]) is None
    assert "not signed with the root key" in desk.dropped[0][1]


def test_keys_under_another_root_end_the_process_and_name_it() -> None:
    desk = Desk().opened()
    known, foreign = desk.keys[ROOT], Key.make(OPERATOR)
    desk.keys[ROOT] = foreign
    with pytest.raises(LogBroken, match=f"{foreign.public}, but this desk trusts {known.public}"):
        desk.store("desk", desk.adopted(), "r1")


def test_the_configured_root_is_trusted_and_no_other() -> None:
    desk = Desk(root=Key.make(OPERATOR).public)
    desk.store("desk", CLOCK, "_desk-1")
    with pytest.raises(LogBroken, match="another desk's"):
        desk.store("desk", desk.adopted(), "_desk")


@pytest.mark.parametrize("text", ["", "UABC", "x" * 56])
def test_keys_that_are_none_are_dropped(text: str) -> None:
    desk = Desk().opened()
    data = desk.adopted()
    wrong: Mapping[str, str] = {**data.keys, "gate": text}
    assert desk.store("desk", KeysAdopted(dict(wrong), data.root, "test"), "r1") is None


def test_after_a_rotation_the_new_key_counts_and_the_old_one_does_not() -> None:
    desk = Desk().opened()
    old, desk.keys["gate"] = desk.keys["gate"], Key.make()
    desk.store("gate", HASHED, "a", key=old)
    assert desk.store("desk", desk.adopted(), "r1")
    assert desk.store("gate", HASHED, "b", key=old) is None
    assert desk.store("gate", HASHED, "b")


def test_a_repeat_of_old_keys_changes_nothing() -> None:
    desk = Desk().opened()
    first = desk.adopted()
    draft = Draft("desk", "_desk", "_desk", AT, 0, first)
    desk.keys["gate"] = Key.make()
    desk.store("desk", desk.adopted(), "r1")
    again = seal(draft, desk="d", instance="1", n=2, prev=None, sign=desk.keys[ROOT].sign)
    assert desk.read(draft.subject, again) is None
    assert "a repeat" in desk.dropped[-1][1]
    assert desk.store("gate", HASHED, "a")


def test_data_that_fits_no_type_is_dropped_by_everyone() -> None:
    desk = Desk().opened()
    draft = Draft("gate", "_desk", "a", AT, 0, HASHED)
    payload = seal(draft, desk="d", instance="1", n=1, prev=None).replace(b'"state_hash":"0"', b'"state_hash":0')
    assert desk.read(draft.subject, desk.keys["gate"].sign(payload)) is None
    assert desk.prefixes.of("gate", "_desk").n == 0


def test_a_process_whose_key_was_replaced_ends_unless_it_has_the_new_one() -> None:
    old, new = Key.make(), Key.make()
    signer = Signer({"gate": old})
    signer.follow({"gate": old.public})
    with pytest.raises(KeyReplaced):
        signer.follow({"gate": new.public})
    signer.offer("gate", new)
    signer.follow({"gate": new.public})
    draft = Draft("gate", "_desk", "a", AT, 0, HASHED)
    unsigned = seal(draft, desk="d", instance="1", n=1, prev=None)
    assert signer.sign(draft, unsigned) == new.sign(unsigned)


def test_a_process_without_the_key_cannot_sign() -> None:
    draft = Draft("executor", "_desk", "a", AT, 0, HASHED)
    with pytest.raises(BusError, match="no key of executor"):
        Signer({"gate": Key.make()}).sign(draft, b"{}")
