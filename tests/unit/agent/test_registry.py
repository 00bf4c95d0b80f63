"""Asking for a source by name, and keeping what it needs for a run that is resumed."""

from hashlib import sha256
from pathlib import Path

import pytest

from services.agent.sources import (
    SOURCES,
    SourceError,
    check_source,
    keep_source,
    log_argument,
    open_source,
    parse_source,
    source_warnings,
    unused_dates,
)
from services.agent.sources.decisions import Decisions
from services.agent.sources.equal_weight import EqualWeight


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("momentum", ("momentum", "", "momentum")),
        ("momentum@alpha", ("momentum", "", "alpha")),
        ("file:a/b.jsonl@alpha", ("file", "a/b.jsonl", "alpha")),
        ("file:a.jsonl", ("file", "a.jsonl", "file")),
        ("file:C:/a.jsonl", ("file", "C:/a.jsonl", "file")),
        ("file:/home/me@work/a.jsonl", ("file", "/home/me@work/a.jsonl", "file")),
        ("file:/home/me@work/a.jsonl@alpha", ("file", "/home/me@work/a.jsonl", "alpha")),
    ],
)
def test_a_source_is_asked_for_as_kind_argument_and_book(text: str, expected: tuple[str, str, str]) -> None:
    assert tuple(parse_source(text)) == expected


@pytest.mark.parametrize("kind", sorted(SOURCES))
def test_every_kind_can_name_a_book(kind: str) -> None:
    argument = ":x" if SOURCES[kind].argument else ""

    assert parse_source(kind + argument).book == kind


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("momentun", "unknown source 'momentun'; known: equal_weight, file, hold, momentum, rule_breaker"),
        ("", "unknown source ''"),
        ("@alpha", "unknown source ''"),
        ("Momentum", "unknown source 'Momentum'"),
        ("momentum:5", "the source momentum takes no argument, found '5'"),
        ("momentum:", "the source momentum takes no argument"),
        ("file", "the source file needs an argument: file:PATH"),
        ("file:@alpha", "the source file needs an argument: file:PATH"),
        ("momentum@", "is no book name"),
        ("momentum@Alpha", "'Alpha' is no book name"),
        ("momentum@_desk", "'_desk' is no book name"),
        ("momentum@abcdefghijklm", "is no book name"),
        ("file:plans@2.jsonl", "what follows the last @ is the book: KIND[:ARG][@BOOK]"),
    ],
)
def test_what_cannot_be_a_source_is_refused_with_what_can(text: str, says: str) -> None:
    with pytest.raises(SourceError) as raised:
        parse_source(text)

    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_check_refuses_an_unknown_kind_too() -> None:
    with pytest.raises(SourceError, match="unknown source 'claude'"):
        check_source("claude", "")


def test_a_built_in_source_stands_in_the_log_as_it_was_asked_for(tmp_path: Path) -> None:
    keep_source("equal_weight", "", tmp_path)

    assert log_argument("equal_weight", "") == ""
    assert open_source("equal_weight", "", tmp_path) == EqualWeight()
    assert list(tmp_path.iterdir()) == []


def test_a_file_stands_in_the_log_by_its_content_and_is_read_from_the_copy(tmp_path: Path) -> None:
    content = '{"date": "2022-01-03", "orders": []}\n'
    file, data_dir = tmp_path / "d.jsonl", tmp_path / "data"
    file.write_text(content, encoding="utf-8")

    argument = log_argument("file", str(file))
    keep_source("file", str(file), data_dir)
    keep_source("file", str(file), data_dir)
    file.unlink()

    assert argument == f"sha256:{sha256(content.encode()).hexdigest()}"
    assert open_source("file", argument, data_dir) == Decisions({"2022-01-03": ()})
    assert [path.name for path in (data_dir / "blobs").iterdir()] == [argument.removeprefix("sha256:")]


def test_a_damaged_copy_is_refused_and_mended_by_keeping_again(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text('{"date": "2022-01-03", "orders": []}\n', encoding="utf-8")
    argument = log_argument("file", str(file))
    keep_source("file", str(file), tmp_path)
    (tmp_path / "blobs" / argument.removeprefix("sha256:")).write_text('{"date": "2022-01-04", "orders": []}\n')

    with pytest.raises(SourceError, match="damaged"):
        open_source("file", argument, tmp_path)
    keep_source("file", str(file), tmp_path)

    assert open_source("file", argument, tmp_path) == Decisions({"2022-01-03": ()})


def test_a_copy_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        open_source("file", "sha256:00", tmp_path)


def listing(target: Path, *dates: str) -> str:
    """A decisions file for these dates, as a source's argument."""
    target.write_text("".join(f'{{"date": "{date}", "orders": []}}\n' for date in dates), encoding="utf-8")
    return str(target)


def test_dates_that_are_no_session_of_the_run_are_told_in_order_the_first_five_by_name(tmp_path: Path) -> None:
    sessions = ("2022-01-03", "2022-01-04")
    one = listing(tmp_path / "one.jsonl", "2022-01-04", "2022-01-01")
    many = listing(tmp_path / "many.jsonl", *(f"2022-02-0{day}" for day in range(7, 0, -1)))

    assert unused_dates("file", one, sessions) == ("2022-01-01",)
    assert source_warnings("file", one, sessions) == (
        "one.jsonl: 1 date is no session of this run, nothing is done for 2022-01-01",
    )
    assert source_warnings("file", many, sessions) == (
        "many.jsonl: 7 dates are no session of this run, nothing is done for "
        "2022-02-01, 2022-02-02, 2022-02-03, 2022-02-04, 2022-02-05 and 2 more",
    )


def test_a_source_without_dates_of_its_own_and_one_within_the_run_have_nothing_to_tell(tmp_path: Path) -> None:
    within = listing(tmp_path / "within.jsonl", "2022-01-03")

    assert source_warnings("file", within, ("2022-01-03", "2022-01-04")) == ()
    assert source_warnings("momentum", "", ("2022-01-03",)) == ()
