"""What the market shows at the slot and at the close."""

import pytest

from services.simulator.market import Moment, history, last_price, mark, prices
from tests.unit.simulator.worlds import price_file

CLOSES = """
2022-10-03,A,,,,137.57,
2022-10-04,A,,,,110.555,
2022-10-05,A,,,,90,
"""
BARS = """
2022-10-03,A,98,101,97,100,
2022-10-04,A,50,52,49,51,1005
"""
SLOT, CLOSED = Moment(1, False), Moment(1, True)


def shown(file, now, symbol="A"):
    """Bid, ask, last and previous close as text, None where absent."""
    return tuple(None if price is None else str(price) for price in prices(file, symbol, now))


def test_at_the_slot_the_last_price_is_the_open_where_it_is_known(tmp_path):
    assert shown(price_file(tmp_path, BARS), SLOT) == ("49.99", "50.01", "50", "100")


def test_at_the_slot_the_last_price_is_the_close_before_where_there_is_no_open(tmp_path):
    # 137.57 x 0.9998 = 137.542486 and x 1.0002 = 137.597514, rounded outward
    assert shown(price_file(tmp_path, CLOSES), SLOT) == ("137.54", "137.6", "137.57", "137.57")


def test_at_the_close_the_last_price_is_the_close_unrounded(tmp_path):
    # 110.555 x 0.9998 = 110.532889 and x 1.0002 = 110.577111
    assert shown(price_file(tmp_path, CLOSES), CLOSED) == ("110.53", "110.58", "110.555", "137.57")


def test_bid_and_ask_that_fall_on_the_tick_stay_there(tmp_path):
    file = price_file(tmp_path, "2022-10-03,A,,,,100,\n2022-10-04,A,,,,100,")
    assert shown(file, SLOT)[:2] == ("99.98", "100.02")


def test_a_bid_below_one_tick_is_absent_not_zero(tmp_path):
    file = price_file(tmp_path, "2022-10-03,A,,,,0.01,\n2022-10-04,A,,,,0.01,")
    assert shown(file, SLOT) == (None, "0.02", "0.01", "0.01")


def test_the_longest_price_that_a_file_may_hold_is_rounded_exactly(tmp_path):
    # 987654321098.76543210987... x 1.0002 = 987851851962.985...: outward to .99; x 0.9998 = 987456790234.545...: outward to .54
    file = price_file(tmp_path, "2022-10-03,A,,,,987654321098.765432109876,\n2022-10-04,A,,,,1,")
    assert shown(file, SLOT)[:2] == ("987456790234.54", "987851851962.99")


@pytest.mark.parametrize("now", [SLOT, CLOSED])
def test_a_name_without_a_bar_that_day_has_no_price_but_the_close_before(tmp_path, now):
    file = price_file(tmp_path, "2022-10-03,A,,,,5,\n2022-10-03,B,,,,6,\n2022-10-04,A,,,,5,\n2022-10-05,B,,,,6,")
    assert shown(file, now, "B") == (None, None, None, "6")


def test_a_name_without_a_bar_the_day_before_has_no_price_at_the_slot(tmp_path):
    file = price_file(tmp_path, "2022-10-03,A,,,,5,\n2022-10-04,A,,,,5,\n2022-10-04,B,,,,6,")
    assert shown(file, SLOT, "B") == (None, None, None, None)
    assert shown(file, CLOSED, "B")[2:] == ("6", None)


def test_in_the_first_session_closes_alone_give_no_price_at_the_slot(tmp_path):
    assert shown(price_file(tmp_path, CLOSES), Moment(0, False)) == (None, None, None, None)


def test_a_position_is_marked_at_the_newest_close_that_is_known(tmp_path):
    file = price_file(tmp_path, "2022-10-03,A,,,,5,\n2022-10-03,B,,,,6,\n2022-10-04,A,,,,7,\n2022-10-05,A,,,,8,")
    assert last_price(file, "B", Moment(2, True)) is None
    assert mark(file, "B", Moment(2, True)) == 6
    assert mark(file, "A", Moment(1, False)) == 5
    assert mark(file, "A", Moment(1, True)) == 7
    assert mark(file, "A", Moment(0, False)) is None


def test_the_running_sessions_own_bar_is_never_history(tmp_path):
    file = price_file(tmp_path, CLOSES)
    assert [day for day, _ in history(file, "A", 9, SLOT)] == ["2022-10-03"]
    assert [day for day, _ in history(file, "A", 9, CLOSED)] == ["2022-10-03", "2022-10-04"]
    assert history(file, "A", 9, Moment(0, False)) == []


def test_history_gives_the_last_bars_that_there_are_oldest_first(tmp_path):
    file = price_file(tmp_path, CLOSES + "2022-10-06,B,,,,1,\n2022-10-07,A,,,,91,")
    found = history(file, "A", 2, Moment(4, True))
    assert [(day, fields.close) for day, fields in found] == [("2022-10-05", "90"), ("2022-10-07", "91")]
