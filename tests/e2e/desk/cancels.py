"""A flood of cancels beside a running desk, each sent the moment a chosen kind of event is stored, and what became of them."""

import asyncio
import base64
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats

from tests.support.desks import Message, connected_as_desk, wait_for

KINDS = (
    "ProposalMade",
    "Verdict",
    "OrderIntended",
    "ProposalMade",
    "OrderPlaced",
    "OrderIntended",
    "ProposalMade",
    "OrderClosed",
)
EARLIEST = "ProposalMade"
MAX_TRIES = 500
PAUSES_S = (0.0, 0.002, 0.01, 0.05)
ANSWER_S = 60.0
FLOOD_S = 150.0
LOOK_S = 0.001


@dataclass(frozen=True)
class Command:
    """One cancel, sent twice under one request id: the kind of event it was sent upon, and both answers."""

    upon: str
    order: str
    answers: tuple[dict[str, Any], dict[str, Any]]

    @property
    def accepted(self) -> int | None:
        """The sequence of its event; the first answer may be older than the verdict and the second not."""
        return self.answers[1].get("seq")


def flood(folder: Path, count: int) -> list[Command]:
    """Send `count` cancels, one a session, upon every kind of event in turn and after pauses of several lengths."""
    return asyncio.run(asyncio.wait_for(_flood(folder, count), FLOOD_S))


async def _flood(folder: Path, count: int) -> list[Command]:
    ports = folder / "js" / "ports.json"
    port = await asyncio.to_thread(wait_for, lambda: ports.exists() and json.loads(ports.read_text() or "{}").get("nats"))
    client = await connected_as_desk(folder, port)
    sent: list[asyncio.Task[Command]] = []
    session, seq = "", 0
    while len(sent) < count:
        seq += 1
        event = await _stored(client, seq)
        day, kind = event["at"][:10], KINDS[len(sent) % len(KINDS)]
        if event["type"] == kind and day > session:
            session = day
            sent.append(asyncio.create_task(_cancel(client, kind, _order_of(event), len(sent))))
    commands = list(await asyncio.gather(*sent))
    await client.close()
    return commands


async def _stored(client: Any, seq: int) -> dict[str, Any]:
    """The event at a sequence, as soon as it is stored."""
    while True:
        with contextlib.suppress(nats.errors.NoRespondersError):  # there is no stream yet
            answer = await client.request("LOG.API.STREAM.MSG.GET.EV", json.dumps({"seq": seq}).encode(), timeout=ANSWER_S)
            found = json.loads(answer.data)
            if "message" in found:
                return json.loads(base64.b64decode(found["message"]["data"]))  # type: ignore[no-any-return]
        await asyncio.sleep(LOOK_S)


async def _cancel(client: Any, kind: str, order: str, number: int) -> Command:
    """Ask twice; before there is a verdict ask on until there is one, so as to come between it and what it leads to."""
    if kind != EARLIEST:
        await asyncio.sleep(PAUSES_S[number // len(KINDS) % len(PAUSES_S)])
    body = json.dumps({"command": "cancel", "order": order, "reason": "drill", "request": f"drill-{number}"}).encode()
    for _ in range(MAX_TRIES if kind == EARLIEST else 1):
        asked = [client.request("rpc.desk.command", body, timeout=ANSWER_S) for _ in range(2)]
        first, second = [json.loads(answer.data) for answer in await asyncio.gather(*asked)]
        if second.get("error", {}).get("code") != "unknown_order":
            break
    return Command(kind, order, (first, second))


def _order_of(event: dict[str, Any]) -> str:
    """The order that an event is about; of a run it is the first, whether it has been judged or not."""
    return str(event["data"].get("order") or f"{event['run']}-1")


@dataclass(frozen=True)
class Drill:
    """One accepted cancel in the log: how far the order was when it was stored, and how the order ended."""

    order: str
    stage: str
    after_close: bool
    filled: bool
    end: str


def drills(log: list[Message]) -> Iterator[Drill]:
    """Every cancel in the log."""
    events = [message.event for message in log]
    for at, event in enumerate(events):
        if event["type"] != "CancelOrdered":
            continue
        order = event["data"]["order"]
        run = order.rpartition("-")[0]
        about = [(n, row) for n, row in enumerate(events) if row["run"] == run and row["data"].get("order") == order]
        stages = [row["type"] for n, row in about if n < at]
        begun = next(n for n, row in enumerate(events) if row["type"] == "Verdict" and row["run"] == run)
        closed = any(row["type"] == "ClockAdvanced" for row in events[begun:at])
        ends = [
            row["data"].get("end") or row["data"]["reason"] for _, row in about if row["type"] in {"OrderClosed", "OrderWithheld"}
        ]
        filled = any(row["type"] == "FillSettled" for _, row in about)
        yield Drill(order, stages[-1] if stages else "Verdict", closed, filled, ends[0] if ends else "none")
