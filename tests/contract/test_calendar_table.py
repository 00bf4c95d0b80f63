"""The shipped table of New York sessions against exchange_calendars, which services never import."""

from datetime import UTC, date, datetime, timedelta

import pytest

from shared.protocol.calendar import CalendarError, calendar

# pandas deprecations inside exchange_calendars
pytestmark = pytest.mark.filterwarnings("ignore:::exchange_calendars", "ignore:::pandas")


@pytest.fixture(scope="module")
def reference():
    """Session date to opening and closing in UTC, as exchange_calendars has them for the span of our table."""
    import exchange_calendars

    ours = calendar("XNYS")
    theirs = exchange_calendars.get_calendar("XNYS", start=ours.first.isoformat(), end=ours.last.isoformat())
    return {
        session.date(): (theirs.session_open(session).to_pydatetime(), theirs.session_close(session).to_pydatetime())
        for session in theirs.sessions
    }


def test_every_day_of_the_table_is_a_session_exactly_where_the_reference_has_one(reference):
    ours = calendar("XNYS")
    days = [ours.first + timedelta(n) for n in range((ours.last - ours.first).days + 1)]
    assert [day for day in days if ours.is_session(day)] == sorted(reference)


def test_every_session_opens_and_closes_when_the_reference_says(reference):
    ours = calendar("XNYS")
    assert {day: tuple(ours.hours(day)) for day in reference} == reference


def test_the_day_after_thanksgiving_closes_early():
    ours = calendar("XNYS")
    assert not ours.is_session(date(2026, 11, 26))
    assert ours.hours(date(2026, 11, 27)).closes_at == datetime(2026, 11, 27, 18, 0, tzinfo=UTC)


def test_a_day_outside_the_table_has_no_answer():
    with pytest.raises(CalendarError, match="covers 2000-01-01 to 2027-11-30"):
        calendar("XNYS").is_session(date(2027, 12, 1))
