"""The generated pages of docs/: complete, fresh, and noticed when they are not."""

from pathlib import Path

import pytest

from shared.protocol.events import EVENT_TYPES
from shared.protocol.reasons import Rule
from tools.generate_docs import ABOUT, main


def test_the_pages_say_what_the_code_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_every_event_type_says_what_it_is_about_and_every_rule_has_a_row(tmp_path: Path) -> None:
    assert main([], tmp_path) == 0

    assert list(ABOUT) == list(EVENT_TYPES)
    events, rules = ((tmp_path / name).read_text(encoding="utf-8") for name in ("events.md", "rules.md"))
    assert [name for name in EVENT_TYPES if f"\n## {name}\n" not in events] == []
    assert [rule for rule in Rule if f"| `{rule.value}` |" not in rules] == []


def test_a_stale_and_a_missing_page_are_named_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    main([], folder)
    (folder / "events.md").write_text("old", encoding="utf-8")
    (folder / "rules.md").unlink()

    assert main(["--check"], folder) == 1

    assert capsys.readouterr().err.splitlines() == [
        "docs/events.md is stale: run `make docs`",
        "docs/rules.md is stale: run `make docs`",
    ]
    assert (folder / "events.md").read_text(encoding="utf-8") == "old"
    assert not (folder / "rules.md").exists()


def test_a_wrong_argument_is_refused() -> None:
    assert main(["--chekc"]) == 2
