"""Named faults through the real ib_async: what the broker did, what the library made of it, and what is booked all the same."""

import pytest

from services.executor.ibkr.life import Alarm, Book, BookFee, Close, Phase
from tests.integration.ibkr.play import Play
from tests.support.tws import Desk, serving


@pytest.fixture
async def play(tmp_path):
    async with serving(Desk(tmp_path)) as desk:
        desk.slot()
        played = Play(desk)
        await played.connect()
        await played.sweep()
        yield played
        if played.link is not None:
            played.link.close()


def said(play, reference="o"):
    """What followed, in a few words."""
    words = []
    for effect in play.effects.get(reference, []):
        match effect:
            case Book():
                words.append(f"book {effect.quantity} {effect.price} {effect.fee.amount if effect.fee else 'pending'}")
            case BookFee():
                words.append(f"fee {effect.fee.amount}")
            case Close():
                words.append(f"{effect.end} {effect.filled}")
            case Alarm():
                words.append(f"alarm {effect.kind}")
            case _:
                pass
    return words


def phase(play, reference="o"):
    return play.follower.lives[reference].phase


async def test_a_fill_during_the_cancel_is_booked_and_the_order_is_filled(play):
    await play.place("o", limit=150)
    await play.settle()
    play.fault(name="cancel_race")
    await play.cancel("o")
    await play.settle()
    assert said(play) == ["book 10 150 1", "filled 10"]


async def test_two_partial_fills_a_cancel_and_a_late_fill_are_all_booked_and_the_late_one_alarms(play):
    await play.place("o", limit=150)
    await play.settle()
    for quantity in ("3", "2"):
        play.fault(name="execute", ref="o", quantity=quantity)
    await play.settle()
    await play.cancel("o")
    await play.settle()
    play.passes(6)
    play.fault(name="execute", ref="o", quantity="1")
    await play.settle()
    assert said(play) == ["book 3 150 1", "book 2 150 1", "cancelled 5", "alarm late_fill", "book 1 150 1"]
    assert play.booked() == play.at_broker()


async def test_a_commission_before_its_execution_counts_though_the_library_drops_it(play):
    play.fault(name="commission", when="before")
    await play.place("o")
    await play.settle()
    assert said(play) == ["book 10 190.04 1", "filled 10"]


async def test_a_commission_that_never_comes_leaves_a_booking_with_its_fee_pending(play):
    play.fault(name="commission", when="never")
    await play.place("o")
    await play.settle()
    play.passes(60)
    assert play.follower.wants_sweep
    await play.sweep()
    play.passes(60)
    assert said(play) == ["book 10 190.04 pending", "alarm fee_pending", "filled 10"]


async def test_a_commission_that_only_a_request_brings_is_asked_for_after_a_minute(play):
    play.fault(name="commission", when="request")
    await play.place("o")
    await play.settle()
    play.passes(60)
    await play.sweep()
    assert said(play) == ["book 10 190.04 1", "filled 10"]


async def test_a_commission_without_a_number_is_never_booked_as_one(play):
    play.fault(name="commission", when="unset")
    await play.place("o")
    await play.settle()
    assert said(play) == ["alarm unusable"]
    await play.sweep()
    assert said(play) == ["alarm unusable", "book 10 190.04 1", "filled 10"]


async def test_the_same_execution_twice_is_booked_once_and_a_correction_replaces_it(play):
    play.fault(name="twice", what="execution")
    await play.place("o")
    await play.settle()
    play.fault(name="revise", ref="o", price="189")
    await play.settle()
    assert said(play) == ["book 10 190.04 1", "filled 10", "alarm corrected", "book 10 189 1"]
    assert play.booked() == play.at_broker()


@pytest.mark.parametrize("variant", ["a", "b", "c"])
async def test_a_rejection_of_any_shape_ends_the_order_once_a_sweep_has_not_found_it_open(play, variant):
    play.fault(name="reject", variant=variant)
    await play.place("o")
    await play.settle()
    assert (phase(play), said(play)) == (Phase.REJECTED, [])
    await play.sweep()
    assert said(play) == ["rejected 0"]


@pytest.mark.parametrize("code", [110, 203, 10243])
async def test_a_refusal_that_is_certain_ends_the_order_after_one_sweep(play, code):
    play.fault(name="refuse", code=code)
    await play.place("o")
    await play.settle()
    await play.sweep()
    assert said(play) == ["rejected 0"]


@pytest.mark.parametrize("code", [103, 200, 321, 354, 10197, 31_415])
async def test_any_other_error_is_a_doubt_that_two_sweeps_apart_resolve(play, code):
    play.fault(name="refuse", code=code)
    await play.place("o")
    await play.settle()
    assert phase(play) is Phase.UNKNOWN
    await play.sweep()
    await play.sweep()
    assert phase(play) is Phase.UNKNOWN
    play.passes(30)
    await play.sweep()
    assert said(play) == ["unsent 0"]


@pytest.mark.parametrize("code", [399, 10349])
async def test_a_notice_that_makes_the_library_call_an_order_cancelled_leaves_it_alive(play, code):
    play.fault(name="notice", code=code)
    await play.place("o", limit=150)
    await play.settle()
    assert (phase(play), said(play)) == (Phase.ACKED, [])
    play.fault(name="execute", ref="o")
    await play.settle()
    assert said(play) == ["book 10 150 1", "filled 10"]


async def test_a_locate_hold_is_held_and_goes_on(play):
    play.fault(name="notice", code=404, why_held="locate")
    play.fault(name="rest")
    await play.place("o")
    await play.settle()
    assert phase(play) is Phase.HELD
    play.fault(name="release")
    await play.settle()
    assert phase(play) is Phase.ACKED


@pytest.mark.parametrize("code", [161, 10147, 10148])
async def test_a_cancel_that_is_refused_is_a_doubt_and_a_sweep_finds_the_order_alive(play, code):
    await play.place("o", limit=150)
    await play.settle()
    play.fault(name="cancel_refused", code=code)
    await play.cancel("o")
    await play.settle()
    assert phase(play) is Phase.UNKNOWN
    await play.sweep()
    assert phase(play) is Phase.CANCEL_REQUESTED
    await play.cancel("o")
    await play.settle()
    play.passes(6)
    assert said(play) == ["cancelled 0"]


async def test_silence_after_placing_is_unknown_until_the_fill_shows_up_ten_minutes_later_and_nothing_is_sent_again(play):
    play.desk.fault("swallow")
    play.desk.fault("rest")
    await play.place("o")
    await play.settle()
    play.passes(15)
    assert phase(play) is Phase.UNKNOWN
    await play.sweep()
    assert phase(play) is Phase.ACKED
    play.passes(600)
    play.fault(name="execute", ref="o")
    await play.settle()
    assert said(play) == ["book 10 191 1", "filled 10"]
    assert len(play.desk.broker.orders) == 1


@pytest.mark.parametrize("fills", ["later", "never"])
@pytest.mark.parametrize("code", [1101, 1102])
async def test_a_fill_while_the_gateway_has_lost_the_broker_is_booked_once_it_is_back(play, fills, code):
    await play.place("o", limit=150)
    await play.settle()
    play.fault(name="lost", fills=fills)
    play.fault(name="execute", ref="o")
    await play.settle()
    play.fault(name="restored", code=code)
    await play.settle()
    await play.sweep()
    assert said(play) == ["book 10 150 1", "filled 10"]


async def test_after_a_gateway_restart_with_order_ids_rolled_back_no_id_is_used_twice(play):
    await play.place("o", limit=150)
    await play.settle()
    play.fault(name="restart", rollback=100)
    await play.settle()
    await play.place("next", limit=150)
    await play.settle()
    await play.sweep()
    assert (phase(play), phase(play, "next")) == (Phase.ACKED, Phase.ACKED)
    first, second = play.desk.broker.orders.values()
    assert first.order_id < second.order_id


async def test_an_execution_in_an_unknown_time_zone_is_missing_and_the_order_stays_unknown_with_an_ask(play):
    play.fault(name="zone", zone="MEZ")
    await play.place("o")
    await play.settle()
    assert (phase(play), said(play)) == (Phase.ACKED, [])
    play.passes(6)
    assert phase(play) is Phase.UNKNOWN
    await play.sweep()
    assert phase(play) is Phase.UNKNOWN
    assert said(play) == []
    play.fault(name="zone", zone="UTC")
    await play.sweep()
    assert said(play) == ["book 10 190.04 1", "filled 10"]


async def test_a_disconnect_in_the_middle_of_a_batch_loses_nothing_and_sends_nothing_twice(play):
    play.desk.fault("swallow", ref="b2")
    for number in range(1, 5):
        await play.place(f"b{number}", limit=150)
    await play.settle()
    await play.settle()
    for _ in range(3):
        await play.sweep()
        play.passes(31)
    phases = {name: str(life.phase) for name, life in play.follower.lives.items()}
    assert {phases["b1"], phases["b2"]} == {"acked"}
    known = {order.ref for order in play.desk.broker.orders.values()}
    assert {name for name, kept in phases.items() if kept == "abandoned"} == set(phases) - known
    assert len(known) == len(play.desk.broker.orders)


async def test_a_day_order_expires_at_the_close(play):
    await play.place("o", limit=150)
    await play.settle()
    play.desk.close()
    await play.settle()
    play.passes(6)
    assert said(play) == ["cancelled 0"]
