"""The command as a process: its exit codes, its one line on stderr, and what it never prints on stdout."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.desks import PROPDESK, command

WRONG_POLICY = '[policy]\nbase_currency = "USD"\n[policy.limits]\nmax_position_pct = "101"\n'


def one_line(text: str) -> str:
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]


def test_the_version_is_printed() -> None:
    done = command("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "propdesk 0.1.0\n", "")


def test_python_m_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "services.desk", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == "propdesk 0.1.0\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("status", "--json"), "propdesk replay"),
        (("replay", "--json"), "start a run"),
        (("cancel", "20221003T1030-alpha-1-1", "--reason", "drill", "--json"), "start a run"),
    ],
)
def test_a_directory_without_a_desk_is_refused_and_not_made(tmp_path: Path, args: tuple[str, ...], says: str) -> None:
    done = command(*args, "--dir", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in one_line(done.stderr)
    assert not (tmp_path / "none").exists()


def test_the_directory_comes_from_the_environment(tmp_path: Path) -> None:
    done = command("status", env={"PROPDESK_DIR": str(tmp_path / "mine")})
    assert str(tmp_path / "mine") in done.stderr


def test_a_wrong_policy_is_refused_with_file_key_and_what_is_accepted(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(WRONG_POLICY)
    done = command("run", "--json", "--dir", str(tmp_path / "desk"), "--policy", str(policy))
    assert (done.returncode, done.stdout) == (2, "")
    line = one_line(done.stderr)
    assert all(word in line for word in ("policy.toml", "max_position_pct", "101"))
    assert not (tmp_path / "desk").exists()


def test_a_policy_in_another_currency_than_the_prices_is_refused(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[policy]\nbase_currency = "AUD"\n')
    done = command("run", "--dir", str(tmp_path / "desk"), "--policy", str(policy))
    assert done.returncode == 2
    assert "base_currency" in one_line(done.stderr)


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    source, sink = os.pipe()
    os.close(source)
    try:
        done = subprocess.run([str(PROPDESK), "--version"], stdout=sink, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(sink)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_signal_before_anything_was_started_ends_with_its_code(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from services.desk import arguments, cli\n"
        "arguments.prepare = lambda options: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.exit(cli.main(['run', '--dir', sys.argv[1]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "d")], capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert "SIGTERM" in one_line(done.stderr)
    assert not (tmp_path / "d").exists()


def test_gate_check_prints_one_document_and_refuses_a_missing_file(tmp_path: Path) -> None:
    missing = command("gate", "check", "--policy", "p", "--state", str(tmp_path / "state.json"), "--orders", "o", "--json")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "state.json" in one_line(missing.stderr)


def test_help_names_every_command() -> None:
    done = command("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("run", "replay", "status", "cancel", "gate"))
    assert json.dumps(done.stderr) == '""'
