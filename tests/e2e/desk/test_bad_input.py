"""Bad input: one clear line, exit 2, and nothing half-written."""

import os
from pathlib import Path

import pytest

from tests.support.desks import command

HEADER = "date,symbol,open,high,low,close,volume\n"
GOOD = HEADER + "2022-01-03,AAA,,,,10,\n2022-01-04,AAA,,,,11,\n2022-01-05,AAA,,,,12,\n"


def refused(tmp_path: Path, *args: str, mentions: tuple[str, ...]) -> None:
    folder = tmp_path / "desk"
    done = command("run", "--json", "--dir", str(folder), *args)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    assert all(word in lines[0] for word in mentions), lines[0]
    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("date,symbol,open,high,low,volume\n2022-01-03,AAA,,,,1\n", ("close",)),
        (HEADER + "2022-01-03,AAA,,,,NaN,\n", ("line 2", "close", "NaN")),
        (HEADER + "2022-01-03,AAA,,,,0,\n", ("line 2", "close")),
        (HEADER + "2022-01-03,AAA,,,,-1,\n", ("line 2", "close", "-1")),
        (HEADER + "2022-01-03,AAA,,,,10,\n2022-01-03,AAA,,,,10,\n", ("line 3", "AAA")),
        (HEADER + "2022-01-04,AAA,,,,10,\n2022-01-03,AAA,,,,10,\n", ("line 3", "date")),
        ("", ("empty",)),
        (HEADER, ()),
        (HEADER + '2022-01-03,AAA,,,,"10,5",\n', ("line 2", "close", "10,5")),
        (HEADER + "2022-01-03T00:00:00,AAA,,,,10,\n", ("line 2", "date")),
    ],
)
def test_a_broken_price_file_is_refused_with_file_line_and_column(tmp_path: Path, text: str, mentions: tuple[str, ...]) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(text)
    refused(tmp_path, "--data", str(path), mentions=("prices.csv", *mentions))


@pytest.mark.parametrize(
    ("args", "mentions"),
    [
        (("--source", "nonsense"), ("nonsense", "equal_weight")),
        (("--source", "equal_weight@Bad-Book"), ("Bad-Book",)),
        (("--source", "momentum", "--source", "momentum"), ("momentum",)),
        (("--source", "file:no-such.jsonl"), ("no-such.jsonl",)),
        (("--days", "0"), ("days",)),
        (("--from", "2022-05-01", "--to", "2022-04-01"), ("2022-05-01",)),
        (("--from", "2035-01-01"), ("2035-01-01",)),
        (("--data", "no-such.csv"), ("no-such.csv",)),
        (("--seed", "x"), ("seed",)),
        (("--nonsense",), ("nonsense",)),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(tmp_path: Path, args: tuple[str, ...], mentions: tuple[str, ...]) -> None:
    refused(tmp_path, *args, mentions=mentions)


@pytest.mark.parametrize(
    "line", ['{"date": "2022-01-03", "orders": [], "x": 1}', '{"orders": []}', "not json", '{"date": "2022-1-3", "orders": []}']
)
def test_a_broken_order_file_is_refused_with_file_and_line(tmp_path: Path, line: str) -> None:
    orders = tmp_path / "orders.jsonl"
    orders.write_text('{"date": "2022-01-04", "orders": []}\n' + line + "\n")
    refused(tmp_path, "--source", f"file:{orders}", mentions=("orders.jsonl", "2"))


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    done = command("run", "--json", "--dir", str(blocker / "desk"))
    assert done.returncode == 2
    assert str(blocker) in done.stderr
    assert done.stdout == ""


def test_a_file_saved_by_a_spreadsheet_gives_the_same_run_as_the_plain_one(tmp_path: Path) -> None:
    from tests.support.desks import run_json

    (tmp_path / "plain.csv").write_text(GOOD)
    (tmp_path / "saved.csv").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    args = ("--days", "2", "--source", "equal_weight")
    plain, saved = (run_json(tmp_path / name, "--data", str(tmp_path / f"{name}.csv"), *args) for name in ("plain", "saved"))
    assert plain["state_hash"] == saved["state_hash"]


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "10 GB"])
@pytest.mark.parametrize("option", ["--data", "--source"])
def test_what_is_no_regular_file_of_a_bounded_size_is_refused_without_waiting(tmp_path: Path, kind: str, option: str) -> None:
    path = tmp_path / "given"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case _:
            with path.open("wb") as file:
                file.truncate(10 * 1024**3)
    words = ("given", "over ") if kind == "10 GB" else ("given", "is no regular file")
    refused(tmp_path, option, str(path) if option == "--data" else f"file:{path}", mentions=words)


def test_dates_of_an_order_file_that_the_run_never_reaches_are_named_at_the_start(tmp_path: Path) -> None:
    prices, orders = tmp_path / "prices.csv", tmp_path / "orders.jsonl"
    prices.write_text(GOOD)
    orders.write_text("".join(f'{{"date": "{day}", "orders": []}}\n' for day in ("2022-01-01", "2022-01-04", "2021-01-04")))
    args = ("--data", str(prices), "--days", "1", "--source", f"file:{orders}")
    done = command("run", "--json", "--dir", str(tmp_path / "desk"), *args)
    assert done.returncode == 0, done.stderr
    told = "orders.jsonl: 3 dates are no session of this run, nothing is done for 2021-01-04, 2022-01-01, 2022-01-04"
    assert told in done.stderr


@pytest.mark.parametrize("content", ["garbage\n", "garbage"])
def test_a_broker_memory_that_is_not_the_brokers_ends_the_run_at_once_naming_the_file(tmp_path: Path, content: str) -> None:
    prices, folder = tmp_path / "prices.csv", tmp_path / "desk"
    prices.write_text(GOOD)
    (folder / "broker").mkdir(parents=True)
    (folder / "broker" / "journal.jsonl").write_text(content)
    done = command("run", "--json", "--dir", str(folder), "--data", str(prices), "--days", "1")
    assert done.returncode in {1, 2}
    assert done.stdout == ""
    assert "journal.jsonl, line 1: it is not as it was written; restore the file from a copy" in done.stderr
    assert "started again" not in done.stderr
