"""The lock of a data directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.desk.embedded import running_desk
from services.desk.errors import RunFailed, UsageError
from services.desk.layout import Layout
from services.desk.lock import Lock, is_held
from services.desk.run import open_directory
from services.desk.settings import Bounds

AT_ONCE = Bounds(orphans_s=0.0)


def child_that_inherits(lock: Lock) -> "subprocess.Popen[bytes]":
    """A process that does nothing but keep the lock's descriptor."""
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock.descriptor,))


def test_the_lock_file_holds_the_pid_and_a_second_desk_is_refused_with_it(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    lock = Lock.take(layout, 0)
    assert layout.lock.read_text() == f"{os.getpid()}\n"
    assert is_held(layout) == os.getpid()
    with pytest.raises(UsageError, match=f"process {os.getpid()}"):
        Lock.take(layout, 0)
    lock.release()
    assert is_held(layout) is None
    Lock.take(layout, 0).release()


def test_a_desk_that_has_the_lock_and_no_log_yet_is_starting_and_without_it_there_is_none(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    lock = Lock.take(layout, 0)
    with pytest.raises(RunFailed, match="a desk is starting in"):
        running_desk(layout)
    lock.release()
    with pytest.raises(UsageError, match="there is no event log"):
        running_desk(layout)


def test_the_lock_is_held_until_the_last_process_that_inherited_it_is_gone(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    lock = Lock.take(layout, 0)
    child = child_that_inherits(lock)
    lock.release()
    assert is_held(layout) is not None
    child.communicate(b"\n")
    assert is_held(layout) is None


def test_whoever_comes_after_a_killed_desk_waits_for_its_children_to_follow_it(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    script = (
        "import pathlib, subprocess, sys\n"
        "from services.desk.layout import Layout\nfrom services.desk.lock import Lock\n"
        f"lock = Lock.take(Layout(pathlib.Path({str(tmp_path)!r})), 0)\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1)'], pass_fds=(lock.descriptor,))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(UsageError):
        Lock.take(layout, 0)
    Lock.take(layout, 20).release()


def test_fresh_puts_the_old_directory_aside_and_deletes_nothing(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "desk")
    for n in (1, 2):
        open_directory(layout, fresh=True, bounds=AT_ONCE).release()
        (layout.root / f"kept-{n}").touch()
    open_directory(layout, fresh=True, bounds=AT_ONCE).release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["desk", "desk-old-1", "desk-old-2"]
    assert (tmp_path / "desk-old-1" / "kept-1").exists()
    assert (tmp_path / "desk-old-2" / "kept-2").exists()


def test_fresh_does_not_touch_a_directory_that_is_in_use(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "desk")
    lock = open_directory(layout, fresh=False, bounds=AT_ONCE)
    with pytest.raises(UsageError, match="in use by process"):
        open_directory(layout, fresh=True, bounds=AT_ONCE)
    lock.release()
    assert [path.name for path in tmp_path.iterdir()] == ["desk"]


def test_fresh_refuses_to_rename_the_directory_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_directory(Layout(tmp_path), fresh=False, bounds=AT_ONCE).release()
    monkeypatch.chdir(tmp_path / "js")
    with pytest.raises(UsageError, match="more than a data directory"):
        open_directory(Layout(tmp_path), fresh=True, bounds=AT_ONCE)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("name", ["notes.txt", "js/app.js", "broker/letter", "journal.db", "logs/web.log"])
def test_files_that_are_not_a_desks_are_neither_renamed_nor_mixed_with(tmp_path: Path, name: str, fresh: bool) -> None:
    root = tmp_path / "mine"
    (root / name).parent.mkdir(parents=True)
    (root / name).write_text("mine")
    with pytest.raises(UsageError, match="not a desk's"):
        open_directory(Layout(root), fresh=fresh, bounds=AT_ONCE)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()] == [name]


def test_an_empty_file_system_can_be_used_although_it_has_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    open_directory(Layout(tmp_path), fresh=True, bounds=AT_ONCE).release()
    assert (tmp_path / "js").is_dir()


def test_fresh_says_where_the_old_directory_went(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = Layout(tmp_path / "desk")
    open_directory(layout, fresh=True, bounds=AT_ONCE).release()
    open_directory(layout, fresh=True, bounds=AT_ONCE).release()
    assert capsys.readouterr().err == f"propdesk: the old directory is now {tmp_path / 'desk-old-1'}\n"


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_place_that_is_no_directory_is_refused_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--dir"):
        open_directory(Layout(tmp_path / name), fresh=False, bounds=AT_ONCE)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
