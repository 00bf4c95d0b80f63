"""Every scenario of the requirement's section 3, as the messages that one client gets in their order."""

import pytest

from services.simulator.orders import Status
from services.simulator.tws.faults import FaultError
from tests.support.tws import DAY, NEXT_DAY, Desk
from tests.unit.simulator.tws.raw import Raw, desk_at_slot, placed, short

FIRST = "00000001.01.01"


@pytest.fixture
def desk(tmp_path):
    made = desk_at_slot(tmp_path)
    yield made
    made.journal.close()


@pytest.fixture
def raw(desk):
    return Raw(desk)


def test_a_client_is_greeted_with_version_accounts_first_id_and_farms(raw):
    assert [fields[0] for fields in raw.welcome] == ["178", "15", "9", "4", "4", "4"]
    assert raw.welcome[1:3] == [("15", "1", "DU1234567"), ("9", "1", "1")]
    assert [fields[3] for fields in raw.welcome[3:]] == ["2104", "2106", "2158"]


def test_a_client_that_cannot_speak_178_is_not_served(desk):
    from services.simulator.tws.client import Client

    client = Client()
    desk.gateway.greet(client, b"v100..177")
    assert client.aborted


def test_accepted_and_resting(raw):
    assert short(raw.place(limit="150")) == ["5 PreSubmitted", "3 PreSubmitted 0/10", "5 Submitted", "3 Submitted 0/10"]


def test_an_immediate_fill_has_the_order_of_events_of_the_real_capture(raw):
    assert short(raw.place()) == [
        "5 PreSubmitted", "3 PreSubmitted 0/10", f"11 10 {FIRST}", "5 Filled", "3 Filled 10/0", "5 Filled 1", "3 Filled 10/0",
        f"59 {FIRST}",
    ]  # fmt: skip


def test_two_partial_fills_with_their_commissions_later(desk, raw):
    desk.fault("rest")
    desk.fault("commission", when="late")
    raw.place()
    desk.fault("execute", ref="r", quantity="4", price="190")
    assert short(raw.seen()) == [f"11 4 {FIRST}", "5 Submitted", "3 Submitted 4/6"]
    desk.fault("execute", ref="r")
    assert short(raw.seen()) == ["11 6 00000002.01.01", "5 Filled", "3 Filled 10/0"]
    desk.fault("release")
    assert short(raw.seen()) == [f"59 {FIRST}", "59 00000002.01.01"]


def test_a_user_cancel(raw):
    raw.place(limit="150")
    assert short(raw.cancel()) == ["3 PendingCancel 0/10", "3 Cancelled 0/10", "4 202"]


def test_a_cancel_can_be_told_by_202_twice(desk, raw):
    raw.place(limit="150")
    desk.fault("cancel_twice")
    assert short(raw.cancel()) == ["3 PendingCancel 0/10", "4 202", "3 Cancelled 0/10", "4 202"]


def test_a_fill_that_wins_against_the_cancel(desk, raw):
    raw.place(limit="150")
    desk.fault("cancel_race")
    said = raw.cancel()
    assert short(said)[:4] == ["3 PendingCancel 0/10", f"11 10 {FIRST}", "5 Filled", "3 Filled 10/0"]
    assert short(said)[-1] == "4 10148"
    assert said[-1][4] == "OrderId 1 that needs to be cancelled can not be cancelled, state: Filled."


def test_a_partial_fill_while_the_cancel_is_under_way(desk, raw):
    raw.place(limit="150")
    desk.fault("execute", ref="r", quantity="3")
    raw.seen()
    desk.fault("cancel_race", quantity="2")
    said = [text for text in short(raw.cancel()) if not text.startswith(("5", "59"))]
    assert said == ["3 PendingCancel 3/7", "11 2 00000002.01.01", "3 Submitted 5/5", "3 Cancelled 5/5", "4 202"]


def test_a_fill_after_cancelled(desk, raw):
    raw.place(limit="150")
    raw.cancel()
    desk.fault("execute", ref="r", quantity="4")
    assert short(raw.seen()) == [f"11 4 {FIRST}", "5 Cancelled", "3 Cancelled 4/6", f"59 {FIRST}"]
    desk.fault("execute", ref="r")
    assert short(raw.seen())[:3] == ["11 6 00000002.01.01", "5 Filled", "3 Filled 10/0"]


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("a", ["4 201"]),
        ("b", ["5 Inactive", "3 Inactive 0/10", "4 201"]),
        ("c", ["4 201", "3 Inactive 0/10"]),
    ],
)
def test_a_rejection_in_its_three_shapes(desk, raw, variant, said):
    desk.fault("reject", variant=variant, advanced='{"why":1}')
    found = raw.place()
    assert short(found) == said
    assert [fields[5] for fields in found if fields[0] == "4"] == ['{"why":1}']


def test_an_order_that_the_account_cannot_afford_is_rejected_without_any_fault(raw):
    assert short(raw.place(quantity="1000000")) == ["5 Inactive", "3 Inactive 0/1000000", "4 201"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"limit": "190.005"}, 110),
        ({"quantity": "1.5"}, 10243),
        ({"quantity": "0"}, 321),
        ({"exchange": ""}, 321),
        ({"account": "DU7654321"}, 321),
        ({"tif": "GTC"}, 321),
        ({"type": "MKT"}, 321),
        ({"action": "SSHORT"}, 321),
    ],
)
def test_what_a_gateway_refuses_by_itself_is_an_error_alone_and_no_order(desk, raw, changes, code):
    assert short(raw.place(**changes)) == [f"4 {code}"]
    assert desk.broker.orders == {}
    assert short(raw.place(order_id=1)) == ["4 103"]


def test_at_a_closed_market_an_order_waits_and_goes_live_at_the_next_open(desk, raw):
    desk.close()
    assert short(raw.place(limit="150")) == [
        "5 PreSubmitted",
        "3 PreSubmitted 0/10",
        "4 399",
        "5 PreSubmitted",
        "3 PreSubmitted 0/10",
    ]
    assert short(raw.place(order_id=2, ref="crosses"))[2] == "4 399"
    desk.slot(NEXT_DAY)
    said = short(raw.seen())
    assert said[:2] == ["5 Submitted", "3 Submitted 0/10"]
    assert said[2:5] == [f"11 10 {FIRST}", "5 Filled", "3 Filled 10/0"]


def test_a_locate_hold_and_its_release(desk, raw):
    desk.fault("notice", code=404, text="Shares held", why_held="locate")
    desk.fault("rest")
    said = short(raw.place())
    assert said == [
        "5 PreSubmitted", "3 PreSubmitted 0/10 locate", "4 404", "5 PreSubmitted", "3 PreSubmitted 0/10 locate",
    ]  # fmt: skip
    desk.fault("release")
    assert short(raw.seen()) == ["5 Submitted", "3 Submitted 0/10"]


def test_a_missing_tif_is_said_and_the_order_goes_on(raw):
    assert short(raw.place(tif="", limit="150"))[0] == "4 10349"
    assert raw.desk.broker.orders[1].status is Status.WORKING


def test_an_order_id_that_was_used_is_a_collision_also_after_the_next_id_went_back(desk, raw):
    raw.place(order_id=5, limit="150")
    assert short(raw.place(order_id=5)) == ["4 103"]
    assert short(raw.place(order_id=4)) == ["4 103"]
    desk.fault("restart", rollback=3)
    desk.gateway.leave(raw.client)
    again = Raw(desk)
    assert again.welcome[2] == ("9", "1", "3")
    assert short(again.place(order_id=3)) == ["4 103"]
    assert len(desk.broker.orders) == 1


def test_a_day_order_expires_at_the_close_and_is_completed(desk, raw):
    raw.place(limit="150")
    desk.close()
    assert short(raw.seen()) == ["3 Cancelled 0/10", "4 202"]
    (completed, end) = raw.send(99, 0).seen()
    assert (completed[0], completed[76], completed[22], end) == ("101", "Cancelled", "r", ("102",))


def test_a_silent_drop_leaves_no_trace(desk, raw):
    desk.fault("drop")
    assert raw.place() == []
    assert raw.send(5, 1).seen() == [("53", "1")]
    assert raw.send(99, 0).seen() == [("102",)]


def test_an_order_can_be_taken_and_the_socket_ended_before_a_byte(desk, raw):
    desk.fault("swallow")
    assert raw.place(limit="150") == []
    assert raw.client.aborted
    desk.gateway.leave(raw.client)
    assert short(Raw(desk).send(5, 1).seen()) == ["5 Submitted", "3 Submitted 0/10", "53"]


def test_statuses_and_executions_can_come_twice(desk, raw):
    desk.fault("twice", what="status")
    assert short(raw.place(limit="150"))[:4] == ["5 PreSubmitted", "3 PreSubmitted 0/10"] * 2
    desk.fault("twice", what="execution", ref="again")
    said = short(raw.place(order_id=2, ref="again"))
    assert said.count(f"11 10 {FIRST}") == 2


@pytest.mark.parametrize(
    ("when", "pushed", "on_request"),
    [("late", [], []), ("request", [], [f"59 {FIRST}"]), ("never", [], []), ("before", [f"59 {FIRST}"], [f"59 {FIRST}"])],
)
def test_commissions_late_on_request_never_and_before(desk, raw, when, pushed, on_request):
    desk.fault("commission", when=when)
    said = short(raw.place())
    assert [text for text in said if text.startswith("59")] == pushed
    if pushed:
        assert said.index(pushed[0]) < said.index(f"11 10 {FIRST}")
    listed = short(raw.send(7, 3, 9, 0, "", "", "", "", "", "").seen())
    assert listed == [f"11 10 {FIRST}", *on_request, "55"]


def test_a_correction_is_the_same_execution_at_its_next_revision(desk, raw):
    raw.place()
    desk.fault("revise", ref="r", price="190")
    said = raw.seen()
    assert short(said)[0] == "11 10 00000001.01.02"
    assert "59 00000001.01.02" in short(said)
    assert str(desk.broker.state.cash["USD"]) == "998099"  # 1,000,000 less 10 × 190 and the fee of 1
    desk.fault("revise", ref="r", quantity="8")
    assert str(desk.broker.state.positions["AAPL"]) == "8"
    assert str(desk.broker.state.cash["USD"]) == "998479"  # two shares of 190 less
    assert short(raw.send(7, 3, 9, 0, "", "", "", "", "", "").seen()).count("55") == 1


def test_a_trade_by_hand_is_a_position_and_an_execution_of_nobody(desk, raw):
    raw.send(61, 1).seen()
    desk.fault("manual", symbol="MSFT", side="BUY", quantity="3", price="251")
    (position,) = raw.seen()
    assert (position[0], position[4], position[14], position[15]) == ("61", "MSFT", "3", "251")
    (execution, _, _) = raw.send(7, 3, 9, 0, "", "", "", "", "", "").seen()
    assert (execution[2], execution[22 - 0], execution[26]) == ("0", "0", "")
    assert raw.send(5, 1).seen() == [("53", "1")]


def test_after_1100_nothing_is_answered_and_fills_are_told_after_1102(desk, raw):
    raw.place(limit="150")
    desk.fault("lost")
    assert short(raw.seen()) == ["4 1100"]
    assert raw.send(61, 1).seen() == []
    desk.fault("execute", ref="r")
    assert raw.seen() == []
    desk.fault("restored", code=1102)
    assert short(raw.seen())[:4] == ["4 1102", f"11 10 {FIRST}", "5 Filled", "3 Filled 10/0"]


def test_fills_during_1100_may_be_told_only_on_request(desk, raw):
    raw.place(limit="150")
    desk.fault("lost", fills="never")
    desk.fault("execute", ref="r")
    desk.fault("restored", code=1101)
    assert short(raw.seen()) == ["4 1100", "4 1101"]
    assert short(raw.send(7, 3, 9, 0, "", "", "", "", "", "").seen())[0] == f"11 10 {FIRST}"


def test_a_half_open_gateway_answers_nothing_at_all(desk, raw):
    desk.fault("half_open")
    assert raw.send(49, 1).seen() == []
    assert raw.place() == []
    desk.fault("half_open", on=False)
    assert raw.send(49, 1).seen()[0][0] == "49"


def test_a_restart_ends_sessions_and_keeps_the_brokers_state(desk, raw):
    raw.place(limit="150")
    desk.fault("restart")
    assert raw.client.aborted
    desk.gateway.leave(raw.client)
    assert short(Raw(desk).send(5, 1).seen()) == ["5 Submitted", "3 Submitted 0/10", "53"]


def test_a_restart_can_lose_the_newest_orders(desk, raw):
    raw.place(limit="150")
    raw.place(order_id=2, limit="151", ref="newest")
    desk.fault("restart", forgets=1)
    desk.gateway.leave(raw.client)
    again = Raw(desk)
    assert [fields[23] for fields in again.send(5, 1).seen() if fields[0] == "5"] == ["r"]
    assert again.send(99, 0).seen() == [("102",)]


@pytest.mark.parametrize(
    ("of", "request_", "end"),
    [
        ("positions", (61, 1), "62"),
        ("open_orders", (5, 1), "53"),
        ("completed_orders", (99, 0), "102"),
        ("account", (6, 2, 1, "DU1234567"), "54"),
        ("account_multi", (76, 1, 3, "DU1234567", "", 0), "74"),
        ("executions", (7, 3, 9, 0, "", "", "", "", "", ""), "55"),
        ("summary", (62, 1, 4, "All", "NetLiquidation"), "64"),
    ],
)
def test_an_end_marker_can_be_withheld_once(desk, raw, of, request_, end):
    desk.fault("no_end", of=of)
    assert end not in [fields[0] for fields in raw.send(*request_).seen()]
    assert raw.send(*request_).seen()[-1][0] == end


def test_an_account_that_is_not_ready_says_so_and_shows_nothing(desk, raw):
    desk.fault("ready", on=False)
    values = {
        fields[2]: fields[3] for fields in raw.send(6, 2, 1, "DU1234567").seen() if fields[0] == "6" and fields[4] in {"", "USD"}
    }
    assert (values["AccountReady"], values["NetLiquidation"]) == ("false", "0")


@pytest.mark.parametrize(("kind", "code"), [("none", "354"), ("delayed", "354"), ("competing", "10197")])
def test_without_live_data_a_snapshot_is_an_error_without_an_end(desk, raw, kind, code):
    desk.fault("data", kind=kind)
    assert short(snapshot(raw)) == [f"4 {code}"]


def test_without_a_quote_bid_ask_and_last_are_minus_one(desk, raw):
    desk.fault("data", kind="empty")
    ticks = {fields[3]: fields[4] for fields in snapshot(raw) if fields[0] == "1"}
    assert ticks == {"1": "-1", "2": "-1", "4": "-1"}


def test_delayed_data_has_tick_types_of_its_own(desk, raw):
    desk.fault("data", kind="delayed")
    raw.send(59, 1, 3)
    said = snapshot(raw)
    assert short(said)[:2] == ["4 10167", "58"]
    assert {fields[3] for fields in said if fields[0] == "1"} == {"66", "67", "68", "75"}


def snapshot(raw):
    """A snapshot of AAPL."""
    return raw.send(
        1, 11, 6, 265598, "AAPL", "STK", "", "0.0", "", "", "SMART", "NASDAQ", "USD", "AAPL", "NMS", 0, "", 1, 0, ""
    ).seen()


def test_an_unknown_message_id_is_505_and_a_wrong_count_is_320_about_its_order(desk, raw):
    assert raw.send(4711, 1).seen() == [("4", "2", "-1", "505", "Fatal Error: Unknown message id: 4711", "")]
    (said,) = raw.send(*placed(3, "191", "r")[:-1]).seen()
    assert said[:4] == ("4", "2", "3", "320")
    assert said[4] == "Error reading request: placeOrder has 113 fields, 114 are expected"
    assert desk.gateway.refused == 2


def test_a_flag_as_numpy_writes_it_is_refused(raw):
    assert short(raw.place(transmit="True")) == ["4 320"]


def test_an_order_of_another_client_cannot_be_cancelled(desk, raw):
    raw.place(limit="150")
    assert short(Raw(desk, 8).cancel()) == ["4 10147"]


def test_a_cancel_can_be_refused_or_left_without_an_answer(desk, raw):
    raw.place(limit="150")
    desk.fault("cancel_refused", code=161, text="Cancel attempted when order is not in a cancellable state. Order permId =1")
    assert short(raw.cancel()) == ["4 161"]
    desk.fault("cancel_silent")
    assert raw.cancel() == []
    assert short(raw.cancel())[0] == "3 PendingCancel 0/10"


def test_a_global_cancel_ends_the_orders_of_all_clients(desk, raw):
    raw.place(limit="150")
    other = Raw(desk, 8)
    other.send(58, 1)
    assert short(raw.seen()) == ["3 PendingCancel 0/10", "3 Cancelled 0/10", "4 202"]


def test_two_orders_with_one_reference_are_two_orders(desk, raw):
    raw.place(order_id=1, limit="150")
    raw.place(order_id=2, limit="150")
    assert [order.ref for order in desk.broker.orders.values()] == ["r", "r"]


def test_the_same_faults_give_the_same_bytes_twice(tmp_path):
    def story(folder):
        desk = desk_at_slot(folder)
        raw = Raw(desk)
        desk.fault("commission", when="late")
        said = [*raw.place(), *raw.place(order_id=2, limit="150", ref="x")]
        desk.fault("execute", ref="x", quantity="3")
        desk.close()
        desk.fault("release")
        said += raw.seen()
        desk.journal.close()
        return said

    assert story(tmp_path / "one") == story(tmp_path / "two")


def test_the_brokers_state_survives_its_process(tmp_path):
    desk = desk_at_slot(tmp_path)
    raw = Raw(desk)
    desk.fault("rest")
    raw.place()
    desk.fault("execute", ref="r", quantity="4", price="190")
    desk.fault("revise", ref="r", quantity="3")
    before = (desk.broker.state, desk.broker.orders)
    desk.journal.close()
    again = Desk(tmp_path)
    assert (again.broker.state, again.broker.orders) == before
    assert short(Raw(again).send(5, 1).seen()) == ["5 Submitted", "3 Submitted 3/7", "53"]
    assert Raw(again, 9).welcome[2] == ("9", "1", "1")
    again.journal.close()


def test_a_fault_that_cannot_be_done_says_why(desk):
    with pytest.raises(FaultError, match="no order has the reference 'none'"):
        desk.fault("execute", ref="none")
    with pytest.raises(FaultError, match="no fault"):
        desk.fault("explode")
    with pytest.raises(FaultError, match="is not lost"):
        desk.fault("restored")
    with pytest.raises(FaultError, match="client 3 is not connected"):
        desk.fault("abort", client=3)


def test_a_day_is_the_session_and_what_was_before_is_no_longer_told(desk, raw):
    raw.place()
    raw.send(61, 1).seen()
    desk.close()
    desk.slot(NEXT_DAY)
    raw.seen()
    assert raw.send(99, 0).seen() == [("102",)]
    assert raw.send(7, 3, 9, 0, "", "", "", "", "", "").seen() == [("55", "1", "9")]
    assert [fields[14] for fields in raw.send(61, 1).seen() if fields[0] == "61"] == ["10"]
    assert DAY < NEXT_DAY
