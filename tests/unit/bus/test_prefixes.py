"""What is remembered of each writer."""

from shared.bus.ports import Stored
from shared.bus.prefixes import KEPT_IDS, Prefixes
from shared.protocol.envelope import Draft, seal, sha256_hex
from shared.protocol.events import StateHashed

AT = "2022-10-03T14:30:00.000000Z"


def test_of_the_own_prefix_the_last_ten_thousand_ids_are_kept_of_others_none() -> None:
    assert KEPT_IDS == 10_000
    own, other = Prefixes("gate", "1-a"), Prefixes("executor", "1-b")
    prev = None
    for number in range(1, KEPT_IDS + 3):
        draft = Draft("gate", "_desk", f"s{number}", AT, 0, StateHashed("2022-10-03", ""))
        payload = seal(draft, desk="test", instance="1-a", n=number, prev=prev)
        prev = sha256_hex(payload)
        for prefixes in (own, other):
            found = prefixes.read(Stored(number, draft.subject, draft.id, payload))
            assert found is not None
            prefixes.accept(*found)
    kept = own.of("gate", "_desk").ids
    assert len(kept) == KEPT_IDS
    assert next(iter(kept)) == "gate:StateHashed:s3"
    assert kept[f"gate:StateHashed:s{KEPT_IDS + 2}"].seq == KEPT_IDS + 2
    assert other.of("gate", "_desk").ids == {}


def test_a_subject_of_no_author_of_ours_belongs_to_nobody() -> None:
    prefixes = Prefixes("gate", "1-a")
    assert prefixes.read(Stored(1, "ev.intruder.b1.Verdict", "x", b"{}")) is None


def test_writers_are_one_per_author_and_for_agents_one_per_book() -> None:
    prefixes = Prefixes("gate", "1-a")
    assert prefixes.of("gate", "alpha") is prefixes.of("gate", "beta")
    assert prefixes.of("agent", "alpha") is not prefixes.of("agent", "beta")
    assert [prefixes.of("gate", "alpha").filter, prefixes.of("agent", "beta").filter] == ["ev.gate.>", "ev.agent.beta.>"]
