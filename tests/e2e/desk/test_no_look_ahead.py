"""Nothing that a session decides depends on prices that nobody could have seen by then."""

import csv
import json
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.desks import read_log, run_json
from tests.support.simulators import DATA

OHLCV = Path(__file__).parents[2] / "data" / "us-stocks-daily-ohlcv.csv"


def changed(source: Path, target: Path, day: str, keep_open: bool) -> None:
    """Copy a price file with every bar from `day` on made different (with opens: all of the day but its open)."""
    with source.open() as given, target.open("w", newline="") as made:
        rows = csv.DictReader(given)
        out = csv.DictWriter(made, rows.fieldnames or [], lineterminator="\n")
        out.writeheader()
        for number, row in enumerate(rows):
            if row["date"] >= day:
                row |= other_prices(row, Decimal("1.01") + Decimal(number % 7) / 100, keep_open and row["date"] == day)
            out.writerow(row)


def other_prices(row: dict[str, str], factor: Decimal, keep_open: bool) -> dict[str, str]:
    if not row["open"]:
        return {"close": str(Decimal(row["close"]) * factor)}
    opened = Decimal(row["open"]) * (1 if keep_open else factor)
    close = opened * factor
    return {
        "open": str(opened),
        "high": str(close * factor),
        "low": str(opened / 2),
        "close": str(close),
        "volume": str(int(row["volume"]) // 3),
    }


def decided(folder: Path, day: str) -> dict[str, str]:
    """The data of the proposals and verdicts of one session, by event id."""
    events = [message.event for message in read_log(folder)]
    kept = [event for event in events if event["type"] in {"ProposalMade", "Verdict"} and event["at"].startswith(day)]
    return {event["id"]: json.dumps(event["data"], sort_keys=True) for event in kept}


@pytest.mark.parametrize(
    ("source", "first", "day", "last", "keep_open"),
    [(DATA, "2022-10-24", "2022-11-01", "2022-11-03", False), (OHLCV, "2012-11-20", "2012-12-03", "2012-12-05", True)],
)
def test_changing_every_price_from_a_session_on_changes_nothing_that_the_session_decided(
    tmp_path: Path, source: Path, first: str, day: str, last: str, keep_open: bool
) -> None:
    other = tmp_path / "changed.csv"
    changed(source, other, day, keep_open)
    window = ("--from", first, "--to", last)
    run_json(tmp_path / "given", "--data", str(source), *window)
    run_json(tmp_path / "changed", "--data", str(other), *window)

    given, made = decided(tmp_path / "given", day), decided(tmp_path / "changed", day)

    assert len(given) == 6
    assert any('"approved": true' in text for text in given.values())
    assert made == given
    assert decided(tmp_path / "changed", last) != decided(tmp_path / "given", last)
