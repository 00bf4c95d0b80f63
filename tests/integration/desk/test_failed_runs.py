"""A run that failed is seen: in the exit code, on stderr, and in `status`."""

import json
import signal
from pathlib import Path

from tests.support.desks import Watcher, command, running

DAYS = ("--from", "2022-12-27", "--to", "2022-12-28")


def too_many(path: Path) -> Path:
    """A source that proposes a hundred orders, which is one too many, on one day."""
    order = {"symbol": "AAPL", "currency": "USD", "side": "BUY", "quantity": "1", "limit": "100"}
    rows = [{"date": "2022-12-27", "orders": [order] * 100}, {"date": "2022-12-28", "orders": []}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_failed_source_ends_the_run_with_one_and_is_named_below_the_result(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    done = command("run", "--json", "--dir", str(folder), *DAYS, "--source", f"file:{too_many(tmp_path / 'f.jsonl')}@f")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {"books", "events", "seconds", "last_seq", "state_hash"}
    assert document["books"][0]["book"] == "f"
    assert "f: 1 run failed (source_failed): too_many_orders: 100 orders" in done.stderr
    assert done.stderr.splitlines()[-1] == "propdesk: the whole window was traded, but 1 run failed"
    (book,) = json.loads(command("status", "--json", "--dir", str(folder)).stdout)["books"]
    assert book["runs"] == {"ok": 1, "source_failed": 1}
    assert (book["cash"], book["holdings"]) == ("10000.00", 0)
    assert "runs of f: ok 1, source_failed 1" in command("status", "--dir", str(folder)).stdout


def test_a_signal_is_answered_at_once_and_status_says_that_the_run_was_interrupted(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", "20", "--source", "equal_weight") as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        lines: list[str] = []
        while not lines or "stopping" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        _, rest = process.communicate(timeout=30)
    assert process.returncode == 130
    assert rest.splitlines()[-1] == "propdesk: stopped by SIGINT"
    again = command("run", "--days", "20", "--source", "equal_weight", "--dir", str(folder))
    assert again.returncode == 0, again.stderr
    assert "first fill" not in again.stderr
