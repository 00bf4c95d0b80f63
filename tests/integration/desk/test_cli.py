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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("args", [("--version",), ("--help",), ("run", "--help"), ("gate", "check", "--help")])
def test_a_result_that_cannot_be_written_is_a_failure_in_one_line(args: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([str(PROPDESK), *args], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "no space left on device" in one_line(done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "args", [("run", "--days", "1", "--source", "hold"), ("run", "--days", "1", "--source", "hold", "--json")]
)
def test_a_run_whose_result_cannot_be_written_fails_and_so_do_status_and_replay(tmp_path: Path, args: tuple[str, ...]) -> None:
    for words in (args, ("status",), ("status", "--json"), ("replay", "--json")):
        with Path("/dev/full").open("w") as full:
            argv = [str(PROPDESK), *words, "--dir", str(tmp_path / "desk")]
            done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1, done.stderr
        assert done.stderr.splitlines()[-1] == "propdesk: the result cannot be written to stdout: no space left on device"


@pytest.mark.parametrize("option", ["--dir", "--data", "--policy"])
@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_path_is_refused(tmp_path: Path, option: str, value: str) -> None:
    done = command("run", "--dir", str(tmp_path / "d"), option, value, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option} is empty" in one_line(done.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", [("run",), ("replay",), ("status",), ("cancel", "o", "--reason", "r")])
def test_a_directory_whose_name_is_no_utf_8_is_refused_before_anything_is_written(tmp_path: Path, args: tuple[str, ...]) -> None:
    name = os.fsencode(tmp_path) + b"/d\xff"
    done = subprocess.run([str(PROPDESK), *args, "--dir", name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--dir" in one_line(done.stderr)
    assert "no UTF-8" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_none_are_refused_in_plain_words(tmp_path: Path) -> None:
    for args, says in (
        (("--seed", "x"), "a whole number is needed"),
        (("--seed", "-1"), "at least 0 is needed"),
        (("--seed", str(2**63)), f"at most {2**63 - 1} is possible"),
    ):
        done = command("run", *args, "--dir", str(tmp_path / "d"))
        assert done.returncode == 2
        assert says in one_line(done.stderr)


def test_signals_that_come_when_the_ending_began_do_nothing(tmp_path: Path) -> None:
    script = (
        "import atexit, os, signal, sys\n"
        "from services.desk import arguments, cli\n"
        "class Late:\n    def __del__(self): os.kill(os.getpid(), signal.SIGINT)\n"
        "late = Late()\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        "arguments.prepare = lambda options: os.kill(os.getpid(), signal.SIGTERM)\n"
        "code = cli.main(['run', '--dir', sys.argv[1]])\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "d")], capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert one_line(done.stderr) == "propdesk: stopped by SIGTERM"


def test_no_text_of_the_command_list_is_cut_off() -> None:
    for args in (("--help",), *((group, "--help") for group in ("gate", "keys", "policy", "book", "source"))):
        assert "..." not in command(*args, env={"COLUMNS": "80"}).stdout.replace("[ARGS]...", "")
