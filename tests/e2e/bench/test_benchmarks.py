"""Every benchmark runs, checks what it measures, and prints one document; how fast it is does not matter here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "bench"
SHORT = {
    "append.py": ("--events", "100", "--reads", "500", "--rounds", "1"),
    "database.py": ("--sessions", "2", "--rounds", "1"),
    "gate_check.py": ("--rounds", "1"),
    "gate_rules.py": ("--rounds", "1"),
    "hop.py": ("--events", "100"),
    "ledger.py": ("--sessions", "2", "--rounds", "1"),
    "live_log.py": ("--sessions", "2", "--rounds", "1"),
}
LONG = {"intent.py": ("--days", "5"), "recovery.py": ("--events", "500"), "run.py": ("--days", "3")}


def figures(script: str, arguments: tuple[str, ...]) -> list[dict[str, object]]:
    """What a benchmark prints."""
    command = (sys.executable, str(BENCH / script), "--json", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def check(found: list[dict[str, object]]) -> None:
    assert found
    for figure in found:
        assert list(figure) == ["name", "value", "unit", "peer", "beside", "target"]
        assert isinstance(figure["value"], float | int)
        assert figure["value"] > 0
        assert (figure["peer"] is None) == (figure["beside"] == "")


@pytest.mark.parametrize("script", SHORT)
def test_a_benchmark_runs_and_prints_one_document(script: str) -> None:
    check(figures(script, SHORT[script]))


@pytest.mark.long
@pytest.mark.parametrize("script", LONG)
def test_a_benchmark_of_a_whole_desk_runs_and_prints_one_document(script: str) -> None:
    check(figures(script, LONG[script]))
