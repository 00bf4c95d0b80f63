"""A running desk one of whose sources attacks the log with its own key: the run ends as if it had not."""

import asyncio
from pathlib import Path
from typing import Any, Final

from shared.bus.keys import KeyFolder
from shared.bus.rights import inbox_of
from shared.protocol.envelope import Draft, seal, sha256_hex
from shared.protocol.events import ProposalMade, RunEnded, RunStarted
from shared.protocol.reasons import RunStatus, StopReason
from tests.support.desks import Message, Watcher, facts, finish, read_log, running
from tests.support.keyed import connect_keyed
from tests.support.runs import DAYS, Finished
from tests.support.simulators import broker_account

BOOK: Final = "rule_breaker"
IDS: Final = 400
"""So many ids of later events of others are used before their authors need them, well within the server's window of 120 s."""
TIMES: Final = 100
PAUSE_S: Final = 0.02
"""Now and then, so that some of it stands at the end of the log while the desk is about to go on."""
THIEF: Final = "9-thief"


def signed(folder: Path, at: str, last: Message | None) -> list[bytes]:
    """Right signatures: in a wrong place of the chain, about another book's run or one that is over; and too much nesting."""
    key = KeyFolder(folder / "keys").read(f"agent/{BOOK}")
    n = last.event["n"] if last else 0
    old, link = (last.event["run"], sha256_hex(last.payload)) if last else (None, None)
    run, foreign = f"{at[:10].replace('-', '')}T1030-{BOOK}-2", f"{at[:10].replace('-', '')}T1030-equal_weight-1"
    started = RunStarted("stolen", at, at[:10], ())
    places: list[tuple[Any, str, int, str | None]] = [
        (RunEnded(RunStatus.OK, ""), run, n + 5, None),
        (started, run, n + 1, "0" * 64),
        (started, foreign, n + 2, "0" * 64),
        (ProposalMade("stolen", (), "", StopReason.SUBMITTED), run, 1, None),
        (started, str(old), n + 1, link),
    ]
    made = [
        seal(Draft("agent", BOOK, run, at, 0, data, run), desk="desk", instance=THIEF, n=n, prev=prev, sign=key.sign)
        for data, run, n, prev in places
    ]
    return [*made, b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"]


async def attack(folder: Path, url: str, ids: list[str], payloads: list[bytes]) -> None:
    """Store all that with the source's own credentials, and headers in the server's own words."""
    key = KeyFolder(folder / "keys").read(f"agent/{BOOK}")
    client = await connect_keyed(url, key, inbox_prefix=inbox_of("agent", BOOK).encode())
    spoofed = {"Nats-Sequence": "1", "Nats-Subject": "ev.gate.alpha.Verdict", "Status": "204"}
    for identity in ids:
        await client.publish(f"ev.agent.{BOOK}.ProposalMade", b"{}", headers={"Nats-Msg-Id": identity})
    for payload in payloads:
        kind = next((kind for kind in ("RunStarted", "RunEnded") if kind.encode() in payload), "ProposalMade")
        await client.publish(f"ev.agent.{BOOK}.{kind}", payload, headers=spoofed)
    for _ in range(TIMES):
        await client.request(f"ev.agent.{BOOK}.ProposalMade", b"last", timeout=30)
        await asyncio.sleep(PAUSE_S)
    await client.close()


def others_ids(plain: Finished, after: str) -> list[str]:
    """Ids that others will need, from this session on."""
    events = [message.event for message in plain.log]
    return [event["id"] for event in events if event["at"] > after and event["book"] != BOOK][:IDS]


def test_a_source_that_attacks_the_log_changes_nothing_for_others_and_stops_nobody(plain: Finished, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        at = watcher.wait_for_type("RunEnded").event["at"]
        port = int(watcher._ports()["nats"])
        payloads = signed(folder, at, watcher.last(f"ev.agent.{BOOK}.>"))
        asyncio.run(attack(folder, f"nats://127.0.0.1:{port}", others_ids(plain, at), payloads))
        result = finish(process)
    assert result["state_hash"] == plain.result["state_hash"]
    log = read_log(folder)
    hostile = [message for message in log if message.payload in {b"{}", b"last", *payloads}]
    assert len(hostile) > IDS // 2  # an id that its author had just used is not stored again
    honest = [message for message in log if message not in hostile]
    assert facts(honest) == facts(plain.log)
    assert set(broker_account(folder).orders.values()) == {1}
    said = (folder / "logs" / "gate.log").read_text("utf-8")
    assert said.count("event dropped") == len(hostile)
