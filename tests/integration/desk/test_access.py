"""What a command may not read or write is found before it starts anything. Permission bits bind only those who are not root."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from services.desk.access import check_access
from services.desk.errors import UsageError
from services.desk.layout import Layout
from tests.support.desks import PROPDESK, command, run_json

SETPRIV = shutil.which("setpriv")
BOUND = "--bounding-set=-dac_override,-dac_read_search"
COMMANDS = (
    ("run", "--json", "--days", "1"),
    ("replay", "--json"),
    ("status", "--json"),
    ("cancel", "20221003T1030-alpha-1-1", "--reason", "drill", "--json"),
)
NOT_FOR_STATUS = COMMANDS[:2] + COMMANDS[3:]


@pytest.fixture(scope="module")
def traded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which a run is over."""
    folder = tmp_path_factory.mktemp("traded") / "desk"
    run_json(folder, "--days", "1", "--source", "hold")
    return folder


def plainly(*args: str) -> "subprocess.CompletedProcess[str]":
    """Run `propdesk` so that permission bits bind it."""
    if os.geteuid() != 0:
        return command(*args)
    if SETPRIV is None:
        pytest.skip("as root permission bits do not bind, and setpriv (util-linux) is not there to give up that right")
    argv = [SETPRIV, BOUND, str(PROPDESK), *args]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)


def refused(done: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("name", "mode", "missing"),
    [
        ("", 0o500, "written"),
        ("", 0o000, "read"),
        ("js", 0o500, "written"),
        ("js/jetstream", 0o000, "read or written or entered"),
        ("broker", 0o500, "written"),
        ("broker/journal.jsonl", 0o400, "written"),
        ("logs", 0o500, "written"),
        ("logs/gate.log", 0o400, "written"),
        ("journal.db", 0o400, "written"),
        ("journal.db.lock", 0o000, "read or written"),
        ("lock", 0o400, "written"),
        ("js/nats.conf", 0o400, "written"),
    ],
)
def test_what_may_not_be_written_is_named_before_anything_starts(traded: Path, name: str, mode: int, missing: str) -> None:
    path = traded / name
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        for args in NOT_FOR_STATUS:
            refused(plainly(*args, "--dir", str(traded)), f"propdesk: {path} cannot be {missing}", "permissions")
    finally:
        path.chmod(before)


@pytest.mark.parametrize(("name", "mode"), [("", 0o300), ("journal.db", 0o200), ("lock", 0o200)])
def test_status_needs_to_read_lock_and_read_models(traded: Path, name: str, mode: int) -> None:
    path = traded / name
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        refused(plainly("status", "--dir", str(traded)), f"{path} cannot be read")
    finally:
        path.chmod(before)


def test_a_place_below_a_folder_that_may_not_be_entered_is_one_line(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    try:
        for args in COMMANDS:
            refused(plainly(*args, "--dir", str(closed / "desk")), str(closed))
    finally:
        closed.chmod(0o700)


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    for args in COMMANDS:
        refused(command(*args, "--dir", str(tmp_path / ("d" * 300))), "name too long", "--dir")


def _folder(path: Path) -> None:
    path.mkdir(parents=True)


def _file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


def _nowhere(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("no-such")


def _pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("journal.db", _folder, "is no file"),
        ("journal.db.lock", _folder, "is no file"),
        ("lock", _folder, "is no file"),
        ("lock", _pipe, "is no file"),
        ("journal.db", _nowhere, "is no file"),
        ("broker/journal.jsonl", _folder, "is no file"),
        ("js", _file, "is no directory"),
        ("js/jetstream", _file, "is no directory"),
        ("broker", _file, "is no directory"),
        ("logs", _file, "is no directory"),
        ("logs", _nowhere, "is no directory"),
        ("js/nats.conf", _pipe, "is no file"),
    ],
)
def test_what_is_of_the_wrong_kind_is_named(tmp_path: Path, name: str, make: Callable[[Path], None], says: str) -> None:
    make(tmp_path / "desk" / name)
    with pytest.raises(UsageError) as refusal:
        check_access(Layout(tmp_path / "desk"))
    assert str(refusal.value).startswith(f"{tmp_path / 'desk' / name} {says}")


def test_an_error_of_the_operating_system_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from services.desk import arguments, cli\n"
        "def prepare(options): open(sys.argv[1])\n"
        "arguments.prepare = prepare\n"
        "sys.exit(cli.main(['run', '--dir', sys.argv[1]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"propdesk: {tmp_path}: is a directory: ")
