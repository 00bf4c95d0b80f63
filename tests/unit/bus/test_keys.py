"""Key files: private, whole, and never shown."""

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from shared.bus.keys import ROOT, KeyFileError, KeyFolder, read_key

NAMES = (ROOT, "desk", "agent/alpha")


@pytest.fixture
def folder(tmp_path: Path) -> KeyFolder:
    made = KeyFolder(tmp_path / "desk" / "keys")
    made.make_missing(NAMES)
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = KeyFolder(tmp_path / "keys")
        folder.make_missing(NAMES)
    finally:
        os.umask(before)
    assert mode(folder.path) == 0o700
    assert [mode(folder.file(name)) for name in NAMES] == [0o600] * 3
    assert {path.name for path in folder.path.iterdir()} == {"root.nk", "root.pub", "desk.nk", "agent-alpha.nk"}


def test_what_is_there_is_kept_and_only_the_missing_made(folder: KeyFolder) -> None:
    desk = folder.read("desk").public
    assert folder.make_missing((*NAMES, "gate")) == ["gate"]
    assert folder.read("desk").public == desk
    assert folder.kept_root() == folder.read(ROOT).public


def test_a_root_key_that_was_taken_away_is_not_made_anew(folder: KeyFolder) -> None:
    folder.file(ROOT).unlink()
    assert folder.make_missing(NAMES) == []
    assert folder.kept_root() is not None


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o644, 0o601])
def test_a_file_that_others_can_open_is_refused(folder: KeyFolder, bits: int) -> None:
    folder.file("desk").chmod(bits)
    with pytest.raises(KeyFileError, match=rf"desk\.nk is open to other users \(mode {bits:04o}\): `chmod 600"):
        folder.read("desk")


def test_a_folder_that_others_can_open_is_refused(folder: KeyFolder) -> None:
    folder.path.chmod(0o755)
    with pytest.raises(KeyFileError, match="chmod 700"):
        folder.read("desk")


@pytest.mark.parametrize("change", ["", "cut", "flipped", "longer", "binary", "root"])
def test_a_malformed_file_is_refused_with_its_path_and_without_its_content(folder: KeyFolder, change: str) -> None:
    path = folder.file("desk")
    seed = path.read_text().strip()
    texts = {
        "": "",
        "cut": seed[:-4],
        "flipped": f"{seed[:20]}{'A' if seed[20] != 'A' else 'B'}{seed[21:]}",
        "longer": f"{seed}\n{seed}\n",
        "root": folder.file(ROOT).read_text(),
    }
    path.write_bytes(b"\xff\xfe" * 20 if change == "binary" else texts[change].encode())
    with pytest.raises(KeyFileError, match=r"desk\.nk is not usable") as refused:
        folder.read("desk")
    assert seed[5:15] not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"gate\.nk cannot be read: no such file"):
        read_key(tmp_path / "gate.nk")


def test_the_secret_is_not_in_the_text_of_a_key(folder: KeyFolder) -> None:
    key = folder.read("desk")
    assert key.public in repr(key)
    assert folder.file("desk").read_text().strip() not in f"{key!r} {key}"


def made_in(path: str) -> dict[str, str]:
    """What one of several processes finds after making what is missing."""
    folder = KeyFolder(Path(path))
    folder.make_missing(MANY)
    return {name: folder.read(name).public for name in MANY}


MANY = (ROOT, *(f"agent/book_{n}" for n in range(20)))


def test_several_processes_that_make_keys_at_once_have_the_same_ones(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        for attempt in range(5):
            folder = str(tmp_path / f"keys{attempt}")
            first, *others = pool.map(made_in, [folder] * 3, chunksize=1)
            assert others == [first, first]


@pytest.mark.parametrize("content", ["", "x", "U" + "A" * 55, "O" + "A" * 55])
def test_a_kept_root_that_is_no_root_key_is_refused_by_its_path(folder: KeyFolder, content: str) -> None:
    folder.root_file.write_text(content)
    with pytest.raises(KeyFileError, match=r"root\.pub holds no public root key"):
        folder.kept_root()


def test_what_is_made_or_kept_is_flushed_with_its_folder(folder: KeyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    folder.make_missing(["gate"])
    assert flushed == ["gate.nk.part", "keys"]


@pytest.mark.parametrize("name", ["desk.nk", "root.nk", "root.pub"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(folder: KeyFolder, name: str) -> None:
    path = folder.path / name
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(KeyFileError, match=r"is no regular file"):
        folder.kept_root() if name == "root.pub" else folder.read(path.stem)
