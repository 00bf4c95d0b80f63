"""Hours and price steps as contract details carry them."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from services.executor.ibkr.hours import HoursError, current, rule_of, sessions, tick_at
from shared.protocol.instants import TimeError
from shared.protocol.market import ExchangeSession
from shared.protocol.money import Exact

WEEK = "20221123:0930-20221123:1600;20221124:CLOSED;20221125:0930-20221125:1300;20221126:CLOSED;20221128:0930-20221128:1600"


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2022, 11, day, hour, minute, tzinfo=UTC)


def test_sessions_are_read_in_the_exchanges_zone_with_holidays_and_half_days():
    assert sessions(WEEK, "US/Eastern") == (
        ("2022-11-23", at(23, 14, 30), at(23, 21)),
        ("2022-11-25", at(25, 14, 30), at(25, 18)),
        ("2022-11-28", at(28, 14, 30), at(28, 21)),
    )


@pytest.mark.parametrize(
    ("now", "opened", "day"),
    [
        (at(23, 14, 29), False, "2022-11-23"),
        (at(23, 14, 30), True, "2022-11-23"),
        (at(23, 20, 59), True, "2022-11-23"),
        (at(23, 21), False, "2022-11-23"),
        (at(25, 18), False, "2022-11-25"),
        (at(27, 12), False, "2022-11-25"),
    ],
)
def test_the_session_of_a_time_is_the_one_that_opened_last(now, opened, day):
    found = current(sessions(WEEK, "US/Eastern"), now)
    assert isinstance(found, ExchangeSession)
    assert (found.open, found.day) == (opened, day)


def test_where_no_hours_are_known_there_is_no_session():
    assert current(sessions("20221124:CLOSED", "US/Eastern"), at(24, 15)) is None


def test_hours_and_zones_that_cannot_be_read_are_refused():
    with pytest.raises(HoursError, match="are no hours"):
        sessions("20221123:0930-1600", "US/Eastern")
    with pytest.raises(TimeError, match="MEZ"):
        sessions(WEEK, "MEZ")


@pytest.mark.parametrize(("price", "tick"), [("0.5", "0.0001"), ("0.9999", "0.0001"), ("1", "0.01"), ("190", "0.01")])
def test_the_price_step_is_that_of_the_band(price, tick):
    rule = ((Decimal(0), Decimal("0.0001")), (Decimal(1), Decimal("0.01")))
    assert tick_at(rule, Decimal(price)) == Exact(tick)


def test_the_rule_is_that_of_the_orders_exchange_in_the_parallel_lists():
    assert rule_of("SMART", "NYSE,SMART,ISLAND", "26,557,26") == 557
    assert rule_of("ARCA", "NYSE,SMART", "26,557") is None
    assert rule_of("SMART", "NYSE,SMART", "26") is None
