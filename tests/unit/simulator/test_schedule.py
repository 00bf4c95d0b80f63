"""What a request to advance may say."""

import pytest

from services.simulator.orders import Session
from services.simulator.schedule import advance, session
from shared.protocol.calendar import calendar
from tests.unit.simulator.worlds import price_file

XNYS = calendar("XNYS")


@pytest.fixture
def file(tmp_path):
    """Monday before Thanksgiving to the short Friday after it, then the Monday."""
    days = ["2022-11-21", "2022-11-22", "2022-11-23", "2022-11-25", "2022-11-28"]
    return price_file(tmp_path, "\n".join(f"{day},A,,,,5," for day in days))


def asked(file, to, step, day):
    return advance(file, XNYS, to=f"{to}:00.000000Z", step=step, day=day).session


def test_hours_are_those_of_the_calendar_early_closes_included(file):
    assert session(file, XNYS, 2) == Session(2, "2022-11-23", "2022-11-23T14:30:00.000000Z", "2022-11-23T21:00:00.000000Z")
    assert session(file, XNYS, 3) == Session(3, "2022-11-25", "2022-11-25T14:30:00.000000Z", "2022-11-25T18:00:00.000000Z")


@pytest.mark.parametrize(
    ("to", "step"),
    [
        ("14:30", "open"),
        ("15:30", "slot"),
        ("17:59", "slot"),
        ("18:00", "close"),
        ("23:00", "close"),
        ("16:00", "watch"),
        ("18:30", "watch"),
    ],
)
def test_steps_inside_their_session_are_taken(file, to, step):
    assert asked(file, f"2022-11-25T{to}", step, "2022-11-25").index == 3


@pytest.mark.parametrize(
    ("to", "step", "day", "words"),
    [
        ("2022-11-25T14:29", "open", "2022-11-25", "is before the session 2022-11-25 opens at 2022-11-25T14:30"),
        ("2022-11-25T18:00", "slot", "2022-11-25", "is not before the session 2022-11-25 closes at 2022-11-25T18:00"),
        ("2022-11-25T18:00", "open", "2022-11-25", "is not before the session 2022-11-25 closes"),
        ("2022-11-25T17:59", "close", "2022-11-25", "is before the session 2022-11-25 closes"),
        ("2022-11-28T14:30", "close", "2022-11-25", "belongs to a later session than 2022-11-25: 2022-11-28 opens"),
        ("2022-11-24T15:30", "slot", "2022-11-24", "2022-11-24 is no session of prices.csv, which has 2022-11-21 to 2022-11-28"),
        ("2022-11-29T15:30", "slot", "2022-11-29", "is no session"),
        ("2022-11-25T15:30", "slot", "2022-13-25", "no date that exists"),
    ],
)
def test_what_does_not_fit_together_is_refused_and_said(file, to, step, day, words):
    with pytest.raises(ValueError, match=words):
        asked(file, to, step, day)


def test_after_the_last_session_any_time_is_after_its_close(file):
    assert asked(file, "2022-12-24T12:00", "close", "2022-11-28").index == 4
