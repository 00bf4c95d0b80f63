"""The life of one order: each story of the requirement, told to the pure state machine."""

import pytest

from services.executor.ibkr.codes import CODES, Meaning, meaning
from services.executor.ibkr.life import CommissionSeen, ExecutionSeen, Phase, Unsent
from services.executor.ibkr.lifecycle import next_deadline
from services.executor.ibkr.numbers import amount, positive
from shared.protocol.money import Exact
from tests.unit.executor.ibkr.story import Story

UNSET = 1.7976931348623157e308


def test_an_order_that_is_filled_at_once_is_placed_booked_and_closed():
    story = Story().sent()
    assert story.status("PreSubmitted") == ["placed 1"]
    assert story.executed("10") == []
    assert story.phase() is Phase.FILLED
    assert story.status("Filled", "10") == []
    assert story.paid() == ["book e1.01.01 10 fee 1", "close filled 10"]
    assert story.phase() is Phase.SETTLED


def test_nothing_is_closed_before_executions_add_up_and_every_commission_is_known():
    story = Story().working()
    assert story.status("Filled", "10") == []
    assert story.executed("4") == []
    assert story.paid() == ["book e1.01.01 4 fee 1"]
    assert story.executed("6", "e2.01.01") == []
    assert story.phase() is Phase.FILLED
    assert story.paid("e2.01.01") == ["book e2.01.01 6 fee 1", "close filled 10"]


def test_a_commission_may_come_before_its_execution():
    story = Story().working()
    assert story.paid() == []
    assert story.executed("10") == ["book e1.01.01 10 fee 1", "close filled 10"]


def test_a_commission_that_is_late_is_asked_for_then_booked_as_pending_and_settled_when_it_comes():
    story = Story().working()
    story.executed("10")
    assert story.later(59) == []
    assert story.later(1) == ["ask"]
    assert story.later(59) == []
    assert story.later(1) == ["book e1.01.01 10 fee pending", "alarm fee_pending", "close filled 10"]
    assert story.later(3600) == []
    assert story.paid(fee="2") == ["fee e1.01.01 2"]
    assert story.paid(fee="2") == []


def test_a_commission_without_a_usable_amount_is_still_to_come():
    story = Story().working()
    story.executed("10")
    assert story.take(CommissionSeen("e1.01.01", None)) == ["alarm unusable"]
    assert story.paid(fee="-0.25") == ["book e1.01.01 10 fee -0.25", "close filled 10"]


def test_the_same_execution_twice_is_one_and_two_equal_ones_are_two():
    story = Story().working()
    story.paid()
    story.paid("e2.01.01")
    assert story.executed("5") == ["book e1.01.01 5 fee 1"]
    assert story.executed("5") == []
    assert story.executed("5", "e2.01.01") == ["book e2.01.01 5 fee 1", "close filled 10"]


def test_a_correction_takes_the_place_of_what_was_booked_and_brings_its_own_commission():
    story = Story().working()
    story.executed("4")
    story.paid()
    assert story.executed("3", "e1.01.02") == ["alarm corrected"]
    assert story.executed("4") == []
    assert story.paid("e1.01.01", "9") == []
    assert story.paid("e1.01.02", "1.5") == ["book e1.01.02 3 fee 1.5 for e1.01.01"]
    assert (story.life.filled, story.booked) == (Exact(3), Exact(3))


def test_a_correction_after_the_end_is_booked_and_reopens_nothing():
    story = Story().working()
    story.executed("10")
    assert story.paid()[-1] == "close filled 10"
    assert story.executed("10", "e1.01.02", "189") == ["alarm corrected"]
    assert story.paid("e1.01.02") == ["book e1.01.02 10 fee 1 for e1.01.01"]
    assert story.phase() is Phase.SETTLED


def test_a_fill_wins_against_a_cancel_and_10148_says_nothing_new():
    story = Story().working()
    story.cancel()
    assert story.phase() is Phase.CANCEL_REQUESTED
    story.status("PendingCancel")
    story.executed("10")
    story.status("Filled", "10")
    assert story.error(10148, "can not be cancelled, state: Filled.") == []
    assert story.paid() == ["book e1.01.01 10 fee 1", "close filled 10"]


def test_two_partial_fills_then_a_cancel_then_a_late_fill():
    story = Story().working()
    for number in ("1", "2"):
        story.executed("3", f"e{number}.01.01")
        story.paid(f"e{number}.01.01")
    story.cancel()
    story.status("Cancelled", "6")
    story.error(202, "Order Canceled - reason:")
    assert story.phase() is Phase.CANCELLED
    assert story.later(4.9) == []
    assert story.later(0.1) == ["close cancelled 6"]
    assert story.executed("2", "e3.01.01") == ["alarm late_fill"]
    assert story.paid("e3.01.01") == ["book e3.01.01 2 fee 1 late"]
    assert story.booked == 8


def test_a_late_fill_that_makes_the_order_whole_before_it_is_closed_fills_it():
    story = Story().working()
    story.status("Cancelled")
    assert story.executed("10") == ["alarm late_fill"]
    assert story.paid() == ["book e1.01.01 10 fee 1 late", "close filled 10"]


def test_fills_that_the_cancelled_status_announced_are_waited_for_and_are_not_late():
    story = Story().working()
    story.executed("3")
    story.paid()
    story.status("Cancelled", "5")
    assert story.later(5) == ["ask"]
    assert story.phase() is Phase.UNKNOWN
    story.executed("2", "e2.01.01")
    assert story.paid("e2.01.01") == ["book e2.01.01 2 fee 1"]
    assert story.swept("Cancelled", perm_id=1, filled=Exact(5)) == []
    assert story.later(5) == ["close cancelled 5"]


@pytest.mark.parametrize("shape", ["a", "b", "c"])
def test_a_rejection_counts_in_every_shape_once_the_order_is_not_among_the_open_ones(shape):
    story = Story().sent()
    if shape == "b":
        assert story.status("Inactive") == ["placed 1"]
        assert story.phase() is Phase.HELD
    assert story.error(201, "no margin") == ["ask"]
    if shape == "c":
        story.status("Inactive")
    assert story.phase() is Phase.REJECTED
    assert story.swept(None, sweeps=1) == ["close rejected 0"]
    assert story.life.words == "201: no margin"


def test_a_rejected_order_that_is_open_after_all_lives_on_and_alarms():
    story = Story().sent()
    story.error(201)
    assert story.swept("Submitted", perm_id=1) == ["placed 1", "alarm rejected_lives"]
    assert story.phase() is Phase.ACKED


@pytest.mark.parametrize("code", sorted(code for code, said in CODES.items() if said is Meaning.REJECTED))
def test_each_code_of_the_whitelist_is_a_rejection_of_a_new_order(code):
    story = Story().sent()
    story.error(code)
    assert story.phase() is Phase.REJECTED


@pytest.mark.parametrize("code", sorted(code for code, said in CODES.items() if said is Meaning.REJECTED))
def test_no_code_rejects_an_order_that_was_executed_in_part(code):
    story = Story().working()
    story.executed("1")
    assert story.error(code) == ["ask"]
    assert story.phase() is Phase.UNKNOWN


@pytest.mark.parametrize("code", [399, 2109, 10349, 10167, 2104, 100])
def test_notices_leave_a_living_order_alone(code):
    story = Story().working()
    assert story.error(code) == []
    assert story.phase() is Phase.ACKED


@pytest.mark.parametrize("code", [103, 104, 161, 200, 321, 322, 354, 481, 10147, 10148, 10149, 10197, 10328, 31_415])
def test_every_other_code_about_an_order_is_a_doubt_and_asks_once(code):
    story = Story().sent()
    assert story.error(code) == ["ask"]
    assert story.phase() is Phase.UNKNOWN
    assert story.error(code) == []


def test_a_locate_hold_is_alive_and_goes_on_when_it_is_released():
    story = Story().working()
    story.error(404, "shares are being located")
    assert story.phase() is Phase.HELD
    story.status("PreSubmitted", why_held="locate")
    assert story.phase() is Phase.HELD
    story.status("Submitted")
    assert story.phase() is Phase.ACKED


def test_inactive_alone_is_a_hold_and_not_an_end():
    story = Story().working()
    story.status("Inactive")
    assert story.later(10_000) == []
    assert story.phase() is Phase.HELD


def test_silence_after_sending_becomes_unknown_and_stays_it_until_the_fill_shows_up():
    story = Story().sent()
    assert story.later(14.9) == []
    assert story.later(0.1) == ["ask"]
    assert story.phase() is Phase.UNKNOWN
    assert story.later(600) == []
    assert story.life.phase.is_working
    assert story.executed("10") == []
    assert story.paid() == ["book e1.01.01 10 fee 1", "close filled 10"]


def test_only_two_complete_sweeps_that_find_nothing_say_that_an_order_was_never_placed():
    story = Story().sent()
    story.later(15)
    assert story.swept(None, sweeps=1) == []
    assert story.phase() is Phase.UNKNOWN
    assert story.swept(None, sweeps=2) == ["close unsent 0"]
    assert story.phase() is Phase.ABANDONED
    assert story.executed("10") == ["alarm late_fill"]
    assert story.paid() == ["book e1.01.01 10 fee 1 late"]


def test_an_order_that_was_seen_at_the_broker_is_never_unsent():
    story = Story().working()
    story.doubted()
    assert story.swept(None, sweeps=9) == ["alarm vanished"]
    assert story.phase() is Phase.UNKNOWN


def test_silence_after_a_cancel_is_a_doubt_and_a_sweep_says_what_became_of_it():
    story = Story().working()
    story.cancel()
    assert story.later(30) == ["ask"]
    assert story.swept("Submitted", perm_id=1) == []
    assert story.phase() is Phase.CANCEL_REQUESTED
    assert story.swept("Cancelled", perm_id=1, filled=Exact(0)) == []
    assert story.later(5) == ["close cancelled 0"]


def test_in_doubt_statuses_only_ask_and_a_sweep_decides():
    story = Story().working()
    assert story.doubted() == ["ask"]
    assert story.status("Cancelled") == []
    assert story.phase() is Phase.UNKNOWN
    assert story.swept("Submitted", perm_id=1) == []
    assert story.phase() is Phase.ACKED


def test_statuses_that_go_backwards_change_nothing():
    story = Story().working()
    story.executed("10")
    story.status("Submitted", "0")
    assert story.phase() is Phase.FILLED
    other = Story().working()
    other.status("Cancelled")
    other.status("Submitted")
    assert other.phase() is Phase.CANCELLED


@pytest.mark.parametrize("status", ["PendingSubmit", "ApiPending", "ValidationError"])
def test_what_the_library_says_by_itself_is_no_acknowledgement(status):
    story = Story().sent()
    story.status(status, perm_id=7)
    assert story.phase() is Phase.SENT
    story.status("Submitted", perm_id=0)
    assert story.phase() is Phase.SENT


def test_an_execution_before_any_acknowledgement_is_one():
    story = Story().sent()
    story.executed("4")
    assert story.phase() is Phase.PARTIAL
    assert story.later(60) == ["ask"]  # for its commission, not for the order


def test_a_second_permanent_id_for_one_reference_alarms():
    story = Story().working()
    assert story.status("Submitted", perm_id=2) == ["ask", "alarm two_orders"]


def test_more_than_was_ordered_is_booked_and_alarms():
    story = Story().working()
    story.executed("10")
    story.paid()
    assert story.executed("1", "e2.01.01") == ["alarm late_fill", "alarm overfilled"]
    assert story.paid("e2.01.01") == ["book e2.01.01 1 fee 1 late"]


def test_an_execution_without_a_usable_price_or_size_is_never_booked():
    story = Story().working()
    assert story.take(ExecutionSeen("e1.01.01", Exact(10), positive(-1))) == ["alarm unusable", "ask"]
    assert story.take(ExecutionSeen("e2.01.01", amount(UNSET), Exact(190))) == ["alarm unusable", "ask"]
    assert story.life.fills == {}


def test_an_intent_that_was_never_sent_is_abandoned_and_only_then():
    story = Story()
    assert story.take(Unsent("halted")) == ["close unsent 0"]
    sent = Story().sent()
    assert sent.take(Unsent("halted")) == []
    assert sent.phase() is Phase.SENT


def test_next_deadline_names_the_time_at_which_silence_means_something():
    story = Story()
    assert next_deadline(story.life) is None
    story.sent()
    due = next_deadline(story.life)
    assert due is not None
    assert (due - story.now).total_seconds() == 15
    story.status("Submitted")
    assert next_deadline(story.life) is None
    story.executed("10")
    due = next_deadline(story.life)
    assert due is not None
    assert (due - story.now).total_seconds() == 60


@pytest.mark.parametrize("value", [UNSET, -UNSET, float("nan"), float("inf"), None, "", True, "1.7976931348623157E308"])
def test_sentinels_are_no_amounts(value):
    assert amount(value) is None


def test_amounts_are_exact_and_prices_are_above_zero():
    assert amount(0.1) == Exact("0.1")
    assert amount(-1.0) == Exact(-1)
    assert (positive(-1.0), positive(0.0), positive(190.01)) == (None, None, Exact("190.01"))


def test_the_table_says_of_every_code_one_thing_and_of_unlisted_ones_that_they_are_ambiguous():
    from services.executor.ibkr.codes import _GROUPS

    assert sum(len(codes) for codes in _GROUPS.values()) == len(CODES)
    assert meaning(9_999_999) is Meaning.AMBIGUOUS
    assert [meaning(code) for code in (326, 1100, 1101, 1102, 2103)] == [
        Meaning.ID_IN_USE, Meaning.DISCONNECTED, Meaning.RESTORED_BARE, Meaning.RESTORED, Meaning.FARM_DOWN,
    ]  # fmt: skip
