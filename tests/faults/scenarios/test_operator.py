"""What an operator does in the middle of a fall: more money hides nothing, another universe makes nothing unsellable."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from tests.faults.scenarios.stage import FRI, MON, PRICES, THU, TUE, Played, Stage, moved
from tests.support.desks import Watcher, children_of, command, running, stop, wait_for

BOUGHT = [("BUY", "AAA", 50, "101"), ("BUY", "BBB", 60, "51")]


@contextmanager
def standing_still(process_id: int, watcher: Watcher, after: str) -> Iterator[None]:
    """Desk time stands still behind a run that ended later than the day `after`: the agent that would go on is stopped."""
    agent = wait_for(lambda: children_of(process_id).get("agent"))
    watcher.wait_for_type("RunEnded", session_after=after)
    stop(agent)
    try:
        yield
    finally:
        os.kill(agent, signal.SIGCONT)


def operate(stage: Stage, *words: str) -> None:
    done = command(*words, "--dir", str(stage.desk), "--reason", "a test")
    assert done.returncode == 0, done.stderr


def ended(stage: Stage, code: int) -> Played:
    played = stage.looked_at(code, "", "")
    assert code == 0
    return played


def test_a_top_up_at_20_percent_leaves_20_percent_and_the_kill_switch_where_it_was(tmp_path: Path) -> None:
    # 1996.40 and three quarters of 8000: 7996.40; 4000 more make the peak 10000 × 11996.40 ÷ 7996.40
    scenario = moved("0.75", session=TUE, through=THU) + moved("0.5", session=FRI)
    stage = Stage(tmp_path)
    with running(stage.desk, *stage.arguments(scenario, {"alpha": {MON: BOUGHT}})) as process, Watcher(stage.desk) as watcher:
        with standing_still(process.pid, watcher, MON):
            operate(stage, "deposit", "alpha", "4000")
        process.communicate(timeout=60)
    log = ended(stage, process.returncode).log
    (flow,) = [event for event in log.of("CashDeposited", "alpha") if event["data"]["amount"] == "4000"]
    valued = [event for event in log.of("BookValued", "alpha") if event["at"] > TUE and event["at"] < FRI]
    before = [event["data"] for event in valued if log.place(event) < log.place(flow)]
    after = [event["data"] for event in valued if log.place(event) > log.place(flow)]

    assert before
    assert after
    assert {data["drawdown_pct"] for data in before + after} == {"20.036"}
    assert {data["peak"] for data in before} == {"10000"}
    assert {Decimal(data["peak"]) for data in after} == {(Decimal("119964000") / Decimal("7996.4")).quantize(Decimal("1e-12"))}
    # half the prices: 9996.40 of a peak of 15002.25… is 33.37 % down
    assert log.data("BookValued", "alpha", purpose="run")[-1]["breach"] is not None


def test_what_left_the_universe_is_still_sold_in_a_crash(tmp_path: Path) -> None:
    scenario = moved("0.5", session=THU, through="end")
    stage = Stage(tmp_path).rules("drawdown_confirmations = 1")
    (tmp_path / "universe.csv").write_text(
        "symbol,exchange,currency,name,source\n" + "".join(f"{name},SMART,USD,,\n" for name in PRICES if name != "BBB"), "utf-8"
    )
    smaller = tmp_path / "smaller.toml"
    smaller.write_text(
        stage.policy.read_text("utf-8").replace(
            "[policy.account]", '[policy.universe]\nfiles = ["universe.csv"]\n[policy.account]'
        )
    )
    arguments = stage.arguments(scenario, {"alpha": {MON: BOUGHT, FRI: [("BUY", "BBB", 1, "25.1")]}})
    with running(stage.desk, *arguments) as process, Watcher(stage.desk) as watcher:
        with standing_still(process.pid, watcher, ""):
            operate(stage, "policy", "adopt", str(smaller))
        process.communicate(timeout=60)
    played = ended(stage, process.returncode)

    assert [len(data["policy"]["universe"]) for data in played.log.data("PolicyAdopted")] == [3, 2]
    assert {order.symbol: str(order.filled) for order in played.sent("SELL")} == {"AAA": "50", "BBB": "60"}
    assert (played.positions, len(played.log.of("HaltTripped"))) == ({}, 1)
