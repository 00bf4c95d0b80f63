"""Which sessions are traded."""

import re
from datetime import date

import pytest

from services.desk.errors import UsageError
from services.desk.window import beyond, window

SESSIONS = [date(2022, 1, day) for day in (3, 4, 5, 6, 7, 10, 11)]


def days(wanted: range) -> list[int]:
    return [SESSIONS[at].day for at in wanted]


@pytest.mark.parametrize(
    ("count", "start", "end", "expected"),
    [
        (3, None, None, [7, 10, 11]),
        (7, None, None, [3, 4, 5, 6, 7, 10, 11]),
        (None, None, None, [3, 4, 5, 6, 7, 10, 11]),
        (2, "2022-01-05", None, [5, 6]),
        (2, None, "2022-01-09", [6, 7]),
        (None, "2022-01-08", None, [10, 11]),
        (None, None, "2022-01-04", [3, 4]),
        (None, "2022-01-04", "2022-01-06", [4, 5, 6]),
        (None, "2022-01-05", "2022-01-05", [5]),
    ],
)
def test_the_window_is_the_sessions_asked_for(count: int | None, start: str | None, end: str | None, expected: list[int]) -> None:
    assert days(window(SESSIONS, count, start, end)) == expected


def test_without_a_number_and_a_start_it_is_the_last_sixty() -> None:
    many = [date.fromordinal(738_000 + n) for n in range(100)]
    assert window(many, None, None, None) == range(40, 100)


@pytest.mark.parametrize(
    ("count", "start", "end", "says"),
    [
        (0, None, None, "--days 0"),
        (-1, None, None, "--days -1"),
        (8, None, None, "only 7 sessions"),
        (3, "2022-01-10", None, "only 2 sessions"),
        (None, "2022-01-06", "2022-01-05", "2022-01-06 is after --to 2022-01-05"),
        (None, "2022-01-08", "2022-01-09", "no session from 2022-01-08 to 2022-01-09"),
        (None, "2023-01-01", None, "no session from 2023-01-01: the data has 2022-01-03 to 2022-01-11"),
        (None, None, "2021-12-31", "no session to 2021-12-31"),
        (1, "2022-01-04", "2022-01-05", "not all three"),
        (None, "4 January", None, "--from: '4 January'"),
        (None, None, "2022-02-30", "--to: '2022-02-30'"),
    ],
)
def test_a_window_that_is_none_is_refused(count: int | None, start: str | None, end: str | None, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        window(SESSIONS, count, start, end)


def test_a_window_beyond_the_data_says_which_sessions_the_data_has() -> None:
    has = "the data, which has the sessions 2022-01-03 to 2022-01-11"
    assert beyond(SESSIONS, "2022-01-03", "2022-01-11") == ()
    assert beyond(SESSIONS, None, None) == ()
    assert beyond(SESSIONS, "2022-01-02", "2022-01-12") == (
        f"--from 2022-01-02 is before {has}",
        f"--to 2022-01-12 is after {has}",
    )
