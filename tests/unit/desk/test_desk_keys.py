"""The keys of a data directory: what is made, and what is refused with a way out."""

from pathlib import Path

import pytest

from services.desk.desk_keys import DeskKeys
from services.desk.errors import UsageError
from services.desk.layout import Layout
from shared.bus.keys import KeyFolder

BOOKS = ("momentum",)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A directory with keys and a log that was made with them."""
    made = Layout(tmp_path / "desk")
    DeskKeys.prepare(made, BOOKS)
    (made.stream / "jetstream" / "LOG" / "streams" / "EV").mkdir(parents=True)
    return made


def test_no_root_is_made_beside_a_log_whose_root_was_lost_and_the_right_one_is_taken_back(layout: Layout) -> None:
    root, public = layout.keys / "root.nk", layout.keys / "root.pub"
    kept = root.read_bytes()
    trusted = DeskKeys.prepare(layout, BOOKS).root
    for path in (root, public, layout.keys / "gate.nk"):
        path.unlink()
    with pytest.raises(UsageError, match=r"bring them back, or say in propdesk\.toml"):
        DeskKeys.prepare(layout, BOOKS)
    assert not {"root.nk", "root.pub", "gate.nk"} & {path.name for path in layout.keys.iterdir()}
    root.write_bytes(kept)
    root.chmod(0o600)
    assert DeskKeys.prepare(layout, BOOKS).root == trusted


def test_a_root_that_the_configuration_names_is_enough_to_read_a_log(layout: Layout) -> None:
    trusted = DeskKeys.prepare(layout, BOOKS).root
    for name in ("root.nk", "root.pub"):
        (layout.keys / name).unlink()
    (layout.root.parent / "propdesk.toml").write_text(f'[desk]\nroot_key = "{trusted}"\n')
    assert DeskKeys.prepare(layout, BOOKS).root == trusted


def test_a_first_start_that_was_killed_between_the_two_files_of_the_root_goes_on(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "desk")
    trusted = DeskKeys.prepare(layout, BOOKS).root
    (layout.keys / "root.pub").unlink()
    assert DeskKeys.prepare(layout, BOOKS).root == trusted
    assert (layout.keys / "root.pub").read_text() == f"{trusted}\n"


@pytest.mark.parametrize(("one", "other"), [("desk", "gate"), ("executor", "agent-momentum"), ("provisioner", "journal")])
def test_one_key_in_two_files_is_refused_by_both_names(layout: Layout, one: str, other: str) -> None:
    copied = layout.keys / f"{other}.nk"
    copied.write_bytes((layout.keys / f"{one}.nk").read_bytes())
    with pytest.raises(UsageError) as refused:
        DeskKeys.prepare(layout, BOOKS)
    assert all(f"{name}.nk" in str(refused.value) for name in (one, other))
    assert "hold the same key" in str(refused.value)
    copied.unlink()
    assert KeyFolder(layout.keys).read(one).public in DeskKeys.prepare(layout, BOOKS).users().values()
