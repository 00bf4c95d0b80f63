"""`propdesk run --scenario`: scripted prices, watch steps, idle books and dead agents, by the log."""

from tests.support.desks import command, facts, read_log, run_json

CRASH = """
[[quote]]
symbol = "*"
session = 2022-12-27
through = "end"
factor = "0.5"
[[watch]]
session = "2022-12-27"
times = ["11:00", "14:00"]
[[idle]]
session = "2022-12-23"
books = ["rule_breaker"]
[agents]
dead_from = "2022-12-27"
"""


def test_a_run_under_a_scenario_has_its_steps_and_prices_and_is_deterministic(tmp_path):
    scenario = tmp_path / "s.toml"
    scenario.write_text(CRASH, "utf-8")
    args = ("--scenario", str(scenario), "--days", "4")
    run_json(tmp_path / "a", *args)
    log = read_log(tmp_path / "a")
    clocks = [message.event["data"] for message in log if message.subject.endswith(".ClockAdvanced")]
    assert [(clock["session"][-2:], clock["step"], len(clock["due"])) for clock in clocks[1:]] == [
        ("22", "slot", 3), ("22", "close", 0), ("23", "slot", 2), ("23", "close", 0),
        ("27", "slot", 0), ("27", "watch", 0), ("27", "watch", 0), ("27", "close", 0),
        ("28", "slot", 0), ("28", "close", 0),
    ]  # fmt: skip
    assert len(clocks[0]["args"]["scenario"]) == 64
    values = {book: _closing(log, book) for book in ("equal_weight", "momentum")}
    assert all(after < before * 0.8 for before, after in values.values())  # each has held most of its cash in shares
    run_json(tmp_path / "b", *args)
    assert facts(read_log(tmp_path / "b")) == facts(log)


def _closing(log, book: str) -> tuple[float, float]:
    """A book's values at the closes before the crash and in it."""
    events = [message.event for message in log if message.subject == f"ev.gate.{book}.BookValued"]
    closes = {event["at"][:10]: event["data"]["value"] for event in events if event["data"]["purpose"] == "close"}
    return float(closes["2022-12-23"]), float(closes["2022-12-27"])


def test_a_wrong_scenario_is_refused_before_anything_is_written(tmp_path):
    scenario = tmp_path / "s.toml"
    scenario.write_text('[[halt]]\nsymbol = "NONE"\n', "utf-8")
    done = command("run", "--dir", str(tmp_path / "a"), "--scenario", str(scenario))
    assert (done.returncode, (tmp_path / "a").exists()) == (2, False)
    assert "no names of the data: NONE" in done.stderr
