"""An operator approves, flattens, halts and resets while the agent stands still: gate and executor carry it out without it."""

import os
import signal
from pathlib import Path
from typing import Any

from tests.faults.scenarios.stage import MON, WED, Stage, entry, moved
from tests.support.checker import Auditor
from tests.support.desks import Watcher, children_of, finish, read_log, running, stop, wait_for

BOUGHT = [("BUY", "AAA", 50, "101"), ("BUY", "BBB", 60, "51")]
ASKS = "approval_above = 4000\napproval_ttl_s = 1000000"
ORDER = "20221003T1030-alpha-1-1"
"""5050 of AAA: over the 4000 that pass without a person."""


def asked(watcher: Watcher, command: str, **fields: Any) -> dict[str, Any]:
    """One command to the running desk, and its answer."""
    return watcher.ask("rpc.desk.command", {"command": command, "reason": "drill", "request": f"{command}-1", **fields})


def test_an_operators_wishes_are_carried_out_without_the_agent(tmp_path: Path) -> None:
    stage = Stage(tmp_path).rules(ASKS)
    arguments = stage.arguments("", {"alpha": {MON: BOUGHT}})
    with running(stage.desk, *arguments) as process, Watcher(stage.desk) as watcher:
        wait_for(lambda: watcher.last("ev.gate.alpha.Verdict"), every_s=0.001)
        agent = wait_for(lambda: children_of(process.pid).get("agent"))
        stop(agent)

        def closed(order: str) -> bool:
            seen = watcher.last("ev.executor.alpha.OrderClosed")
            return seen is not None and str(seen.event["data"]["order"]).endswith(order)

        assert "seq" in asked(watcher, "approve", order=ORDER)
        wait_for(lambda: closed("-a1-1"))
        assert "seq" in asked(watcher, "flatten", book="alpha", symbol="BBB")
        wait_for(lambda: closed("-k1-1"))
        assert "seq" in asked(watcher, "halt", book="alpha", liquidate=True)
        wait_for(lambda: closed("-k2-1"))
        assert "seq" in asked(watcher, "reset", book="alpha")
        os.kill(agent, signal.SIGCONT)
        finish(process)
    log = read_log(stage.desk)
    sent = [message.event["data"] for message in log if message.subject.endswith(".OrderIntended")]
    assert [(row["order"][-4:], row["side"], row["symbol"], row["quantity"], row["limit"]) for row in sent] == [
        ("-1-2", "BUY", "BBB", "60", "51"),
        ("a1-1", "BUY", "AAA", "50", "101"),
        ("k1-1", "SELL", "BBB", "60", "49.5"),
        ("k2-1", "SELL", "AAA", "50", "99"),
    ]
    assert audited(log) == []
    played = stage.looked_at(0, "", "")
    assert played.positions == {}
    assert {order.status.value for order in played.orders} == {"filled"}


def test_while_the_broker_does_not_say_what_it_holds_its_last_complete_answer_caps_the_exits(tmp_path: Path) -> None:
    scenario = (
        entry("adjust", session=WED, symbol="AAA", quantity="-15")
        + moved("0.5", session=WED, through="end")
        + entry("watch", session=WED, times=["11:00"])
        + entry("withhold", query="positions", session=WED, step="watch", times=1000)
    )
    played = Stage(tmp_path).play(scenario, {"alpha": {MON: BOUGHT}}, days=4)

    assert played.code == 3, played.err
    (seen,) = played.log.data("MarketObserved", "alpha", purpose="liquidation")[:1]
    assert seen["positions"] is None
    # at Wednesday's slot, before the watch, it had said 35 of 50
    assert [(order.symbol, str(order.quantity), str(order.filled)) for order in played.sent("SELL")] == [
        ("AAA", "35", "35"), ("BBB", "60", "60"),
    ]  # fmt: skip
    assert played.positions == {}


def audited(log: list[Any]) -> list[str]:
    """What the auditor has to say."""
    auditor = Auditor()
    for message in log:
        auditor.read(message.subject, message.payload)
    return auditor.breaches
