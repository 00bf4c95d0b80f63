"""What each operator command becomes on a given state, and on which states it is refused."""

import json
from typing import Any

import pytest

from services.desk.commands import already_done
from services.desk.operations.base import CommandRefused, Tools
from services.desk.operations.registry import COMMANDS
from services.desk.requests import read_command, wanted_of
from services.desk.tally import DeskState, apply
from shared.protocol.envelope import Draft, canonical
from shared.protocol.events import (
    AccountReconciled,
    AdjustmentBooked,
    ApprovalGiven,
    BookClosed,
    BookOpened,
    CashDeposited,
    CashWithdrawn,
    Decision,
    FlattenOrdered,
    HaltOrdered,
    HaltReset,
    OrderClosed,
    PolicyAdopted,
    ReconciliationFailed,
    RunEnded,
    Share,
    SourcePaused,
    Verdict,
)
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, RunStatus
from tests.support.scribe import POLICY, SLOT, Scribe

ORDER = "20221003T1030-eq-1-1"


def desk(*books: str) -> Scribe:
    scribe = Scribe().open_desk(*(books or ("eq", "mo")))
    scribe.clock("slot", SLOT, due=books or ("eq", "mo"))
    return scribe


def holding(scribe: Scribe, book: str = "eq", shares: str = "100", value: str | None = "9999") -> Scribe:
    """The book bought AAA at 50 with a fee of 1; the order has ended, the run too."""
    run = scribe.start_run(book)
    (order,) = scribe.approve(run, ("AAA", Side.BUY, shares, "50"))
    scribe.fill(order, f"{book}.1", "AAA", Side.BUY, shares, "50")
    scribe.write("executor", OrderClosed(order, OrderEnd.FILLED, Exact(shares), ""), order, book=book, run=run)
    scribe.write("agent", RunEnded(RunStatus.OK, ""), run, book=book, run=run)
    if value is not None:
        scribe.value(book, value)
    return scribe


def seen(scribe: Scribe, cash: str, shares: str, **more: Any) -> Scribe:
    """The account was looked at, without a run."""
    data = AccountReconciled("DU1", {"USD": Exact(cash)}, {"AAA:USD": Exact(shares)}, (), **more)
    scribe.write("executor", data, "looked")
    return scribe


def folded(scribe: Scribe) -> DeskState:
    state = DeskState()
    for event in scribe.events:
        state = apply(state, event)
    return state


def draft(scribe: Scribe, command: str, **fields: Any) -> Draft:
    body = {"command": command, "reason": "because", "request": "r1", **fields}
    return read_command(json.dumps(body).encode()).draft(folded(scribe), Tools())


def refusal(scribe: Scribe, command: str, **fields: Any) -> tuple[str, str]:
    with pytest.raises(CommandRefused) as caught:
        draft(scribe, command, **fields)
    return caught.value.code, str(caught.value)


# -- halts


def test_a_halt_of_the_whole_desk_is_full_unless_asked_otherwise() -> None:
    found = draft(desk(), "halt")
    assert (found.book, found.about, found.data) == ("_desk", "r1", HaltOrdered("_desk", "full", False, "because"))


def test_a_halt_of_a_book_stands_under_that_book() -> None:
    found = draft(desk(), "halt", book="mo", reduce_only=True, liquidate=True)
    assert (found.book, found.data) == ("mo", HaltOrdered("mo", "reduce_only", True, "because"))


def test_a_full_halt_is_not_made_weaker_by_a_second_one() -> None:
    scribe = desk()
    scribe.write("desk", HaltOrdered("mo", "full", False, "drill"), "h1", book="mo")
    assert refusal(scribe, "halt", book="mo", reduce_only=True)[0] == "halted"
    assert draft(scribe, "halt", reduce_only=True).data == HaltOrdered("_desk", "reduce_only", False, "because")


def test_a_reset_needs_a_halt_of_exactly_that_scope_and_names_those_there_are() -> None:
    scribe = desk()
    scribe.write("desk", HaltOrdered("mo", "full", False, "drill"), "h1", book="mo")
    assert refusal(scribe, "reset") == ("not_halted", "there is no halt of the whole desk; halted: mo (--book)")
    assert draft(scribe, "reset", book="mo").data == HaltReset("mo", "because", False)


def test_a_reset_is_refused_while_anything_is_held_unless_that_is_to_stay() -> None:
    scribe = holding(desk())
    scribe.write("desk", HaltOrdered("_desk", "full", False, "drill"), "h1")
    assert refusal(scribe, "reset") == ("holding", "still held: eq AAA:USD; sell it, or add --keep-holdings")
    assert draft(scribe, "reset", keep_holdings=True).data == HaltReset("_desk", "because", True)


def test_dust_counts_as_flat_for_a_reset() -> None:
    scribe = holding(desk(), shares="0.5")
    scribe.write("desk", HaltOrdered("eq", "full", False, "drill"), "h1", book="eq")
    assert draft(scribe, "reset", book="eq").data == HaltReset("eq", "because", False)


def test_a_reset_that_keeps_holdings_needs_their_value() -> None:
    scribe = holding(desk(), value=None)
    scribe.write("desk", HaltOrdered("eq", "full", False, "drill"), "h1", book="eq")
    assert refusal(scribe, "reset", book="eq", keep_holdings=True)[0] == "no_value"


@pytest.mark.parametrize("symbol", ["AAA", "AAA:USD"])
def test_flatten_names_the_instrument_by_its_key(symbol: str) -> None:
    assert draft(holding(desk()), "flatten", book="eq", symbol=symbol).data == FlattenOrdered("eq", "AAA:USD", "because")


def test_flatten_without_holdings_or_of_another_name_is_refused() -> None:
    assert refusal(desk(), "flatten")[0] == "nothing_held"
    assert refusal(holding(desk()), "flatten", symbol="BBB") == ("nothing_held", "BBB is not held; held: AAA:USD")


# -- money


def test_a_deposit_and_a_withdrawal_are_events_of_their_book() -> None:
    found = draft(desk(), "deposit", book="eq", amount="2500.50")
    assert (found.book, found.data) == ("eq", CashDeposited(Exact("2500.5"), "because"))
    assert draft(desk(), "withdraw", book="eq", amount="10000").data == CashWithdrawn(Exact(10000), "because")


def test_more_than_the_free_cash_cannot_be_withdrawn_and_equal_can() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    scribe.approve(run, ("AAA", Side.BUY, "100", "50"))
    assert refusal(scribe, "withdraw", book="eq", amount="4999.01")[0] == "not_free"
    assert draft(scribe, "withdraw", book="eq", amount="4999").data == CashWithdrawn(Exact(4999), "because")


def test_money_does_not_flow_while_a_holding_has_no_value() -> None:
    scribe = holding(desk(), value=None)
    assert {refusal(scribe, name, book="eq", amount="1")[0] for name in ("deposit", "withdraw")} == {"no_value"}


def test_a_withdrawal_never_takes_all_that_a_holding_book_was_worth() -> None:
    assert refusal(holding(desk(), value="4000"), "withdraw", book="eq", amount="4000")[0] == "not_free"


def test_a_withdrawal_leaves_a_cent_or_nothing_so_that_no_drawdown_is_rounded_away() -> None:
    assert refusal(desk(), "withdraw", book="eq", amount="9999.999999999999")[0] == "too_little"
    assert draft(desk(), "withdraw", book="eq", amount="9999.99").data == CashWithdrawn(Exact("9999.99"), "because")
    assert refusal(holding(desk(), value="4000"), "withdraw", book="eq", amount="3999.999")[0] == "not_free"


def test_amounts_end_where_arithmetic_would() -> None:
    assert refusal(desk(), "deposit", book="eq", amount="1000000000000000.01")[0] == "bad_request"
    assert refusal(desk(), "deposit", book="eq", amount="1000000000000000")[0] == "too_much"
    assert refusal(desk(), "adjust", kind="interest", amount="-1000000000000001")[0] == "bad_request"
    assert draft(desk(), "deposit", book="eq", amount="999999999990000").data == CashDeposited(
        Exact("999999999990000"), "because"
    )


def test_a_new_book_is_opened_first_and_funded_then_also_after_a_stop_in_between() -> None:
    scribe = desk()
    fields = {"book": "new", "amount": "500", "open": True, "source": "hold"}
    first = draft(scribe, "deposit", **fields)
    assert (first.id, first.data) == ("desk:BookOpened:new", BookOpened("hold", "USD"))
    scribe.write("desk", first.data, first.about, book=first.book)
    second = draft(scribe, "deposit", **fields)
    assert (second.id, second.data) == ("desk:CashDeposited:r1", CashDeposited(Exact(500), "because"))
    scribe.write("desk", second.data, second.about, book=second.book)
    assert refusal(scribe, "deposit", **fields)[0] == "book_exists"


def test_a_closed_book_takes_no_money_and_its_name_is_never_used_again() -> None:
    scribe = desk()
    scribe.write("desk", BookClosed(Exact(10000), "over"), "c1", book="mo")
    assert refusal(scribe, "deposit", book="mo", amount="1")[0] == "book_closed"
    assert refusal(scribe, "deposit", book="mo", amount="1", open=True, source="hold")[0] == "book_exists"


def test_closing_a_book_withdraws_what_is_left() -> None:
    assert draft(desk(), "close_book", book="mo").data == BookClosed(Exact(10000), "because")


def test_a_book_that_holds_reserves_or_runs_is_not_closed() -> None:
    assert refusal(holding(desk()), "close_book", book="eq")[0] == "holding"
    scribe = desk()
    run = scribe.start_run("eq")
    assert refusal(scribe, "close_book", book="eq")[0] == "running"
    scribe.approve(run, ("AAA", Side.BUY, "1", "50"))
    assert refusal(scribe, "close_book", book="eq")[0] == "reserved"


# -- sources, approvals


def test_a_source_is_paused_once_and_resumed_once() -> None:
    scribe = desk()
    assert refusal(scribe, "resume", book="eq")[0] == "not_paused"
    scribe.write("desk", draft(scribe, "pause", book="eq").data, "p1", book="eq")
    assert refusal(scribe, "pause", book="eq")[0] == "paused"
    assert draft(scribe, "resume", book="eq").book == "eq"


def needing_approval(scribe: Scribe) -> Scribe:
    run = scribe.start_run("eq")
    row = Decision(1, "AAA", "USD", "BUY", Exact(5), Exact(10), False, True, Exact(50), Exact(1), Exact(1), (), None)
    scribe.write("gate", Verdict("proposal", (row,), (), None, None, "p", "1", (), SLOT), run, book="eq", run=run)
    return scribe


def test_an_approval_is_given_once_and_in_time() -> None:
    scribe = needing_approval(desk())
    found = draft(scribe, "approve", order=ORDER)
    assert (found.book, found.data) == ("eq", ApprovalGiven(ORDER, "because"))
    scribe.write("desk", found.data, "a1", book="eq")
    assert refusal(scribe, "approve", order=ORDER)[0] == "answered"
    assert refusal(scribe, "refuse", order=ORDER)[0] == "answered"
    late = needing_approval(desk())
    late.clock("watch", "2022-10-03T15:30:01.000000Z")
    assert refusal(late, "approve", order=ORDER)[0] == "expired"
    assert refusal(desk(), "refuse", order=ORDER)[0] == "unknown_order"


# -- policy


def test_a_policy_is_adopted_whole_once_and_never_in_another_currency() -> None:
    limits = {"max_position_pct": "20"}
    policy = json.loads(canonical(POLICY))
    fields: dict[str, Any] = {
        "policy": {**policy, "limits": {**policy["limits"], **limits}},
        "stated": ["max_position_pct", "month_timezone"],
    }
    scribe = desk()
    found = draft(scribe, "adopt_policy", **fields)
    assert isinstance(found.data, PolicyAdopted)
    assert found.data.policy.limits.max_position_pct == Exact(20)
    scribe.write("desk", found.data, "p1")
    assert refusal(scribe, "adopt_policy", **fields)[0] == "in_force"
    other = {**fields, "policy": {**fields["policy"], "base_currency": "AUD"}}
    assert refusal(scribe, "adopt_policy", **other)[0] == "other_currency"


@pytest.mark.parametrize(
    ("limits", "stated"),
    [({"month_timezone": "Mars/X"}, []), ({"max_drawdown_pct": "-5"}, ["max_drawdown_pct"]), ({"max_drawdown_pct": "20"}, [])],
)
def test_a_policy_that_no_file_could_state_is_not_adopted_by_a_request_either(limits: dict[str, Any], stated: list[str]) -> None:
    policy = json.loads(canonical(POLICY))
    fields = {"policy": {**policy, "limits": {**policy["limits"], **limits}}, "stated": [*stated, "month_timezone"]}
    code, told = refusal(desk(), "adopt_policy", **fields)
    assert (code, next(iter(limits)) in told) == ("bad_policy", True)


# -- the account


def test_a_baseline_is_what_the_account_holds_beyond_the_books() -> None:
    scribe = seen(holding(desk()), "1000", "130")
    data = draft(scribe, "baseline").data
    assert canonical(data) == b'{"account":"DU1","cash":{"USD":"1000"},"positions":{"AAA:USD":"30"},"reason":"because"}'


def test_a_baseline_is_refused_while_the_account_is_unknown_or_has_less_than_the_books() -> None:
    assert refusal(desk(), "baseline")[0] == "not_reconciled"
    assert refusal(seen(holding(desk()), "1000", "70"), "baseline")[0] == "missing"


def test_an_unexplained_dividend_goes_to_the_books_by_what_they_held_and_the_rest_to_none() -> None:
    scribe = holding(holding(desk(), "eq", "30"), "mo", "10")
    seen(scribe, "1080", "50", unattributed={"USD": Exact("80")})
    assert draft(scribe, "adjust", kind="dividend", symbol="AAA").data == AdjustmentBooked(
        "dividend", "USD", Exact(80), "because", "AAA", None, (Share("eq", Exact(60)), Share("mo", Exact(20)))
    )
    scribe.write("desk", AdjustmentBooked("position", "USD", Exact(0), "mine", "AAA", Exact(40)), "b1")
    shares = draft(scribe, "adjust", kind="dividend", symbol="AAA").data.shares  # type: ignore[union-attr]
    assert shares == (Share("eq", Exact(30)), Share("mo", Exact(10)))


def test_a_dividend_goes_by_what_was_held_before_its_ex_date() -> None:
    scribe = seen(holding(desk(), "eq", "30"), "1080", "30", unattributed={"USD": Exact("80")})
    after = draft(scribe, "adjust", kind="dividend", symbol="AAA", ex_date="2022-10-04").data
    assert after.shares == (Share("eq", Exact(80)),)  # type: ignore[union-attr]
    assert refusal(scribe, "adjust", kind="dividend", symbol="AAA", ex_date="2022-10-03")[0] == "nothing_held"


def test_cents_that_rounding_leaves_over_go_to_the_last_book() -> None:
    scribe = desk("eq", "mo", "ze")
    shares = draft(scribe, "adjust", kind="interest", amount="100", pro_rata=True).data.shares  # type: ignore[union-attr]
    assert [str(share.cash) for share in shares] == ["33.33", "33.33", "33.34"]


def test_a_fee_takes_cash_however_it_is_written_and_to_no_book_without_one() -> None:
    for amount in ("7", "-7"):
        assert draft(desk(), "adjust", kind="fee", amount=amount).data == AdjustmentBooked("fee", "USD", Exact(-7), "because")
    found = draft(desk(), "adjust", kind="fee", amount="7", book="eq").data
    assert found.shares == (Share("eq", Exact(-7)),)  # type: ignore[union-attr]


def test_cash_of_another_currency_needs_its_rate() -> None:
    assert refusal(desk(), "adjust", kind="interest", amount="7", currency="AUD", book="eq")[0] == "no_rate"
    found = draft(desk(), "adjust", kind="interest", amount="7", currency="AUD", book="eq", fx="0.5").data
    assert found == AdjustmentBooked("interest", "AUD", Exact(7), "because", shares=(Share("eq", Exact("3.5")),))


def test_shares_that_went_by_hand_leave_a_book_with_their_part_of_the_cost() -> None:
    scribe = holding(desk())
    scribe.write("executor", ReconciliationFailed("DU1", (), {"USD": Exact(0)}, {"AAA:USD": Exact(90)}), "_desk-x")
    found = draft(scribe, "adjust", kind="position", symbol="AAA", book="eq", amount="600").data
    share = Share("eq", Exact(600), Exact(-10), Exact("-500.1"))
    assert found == AdjustmentBooked("position", "USD", Exact(600), "because", "AAA", Exact(-10), (share,))
    assert refusal(scribe, "adjust", kind="position", symbol="AAA", book="mo")[0] == "not_held"


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "dividend"},
        {"kind": "position"},
        {"kind": "fee", "book": "eq", "pro_rata": True},
        {"kind": "interest", "quantity": "1"},
        {"kind": "fee", "ex_date": "2022-10-03"},
        {"kind": "dividend", "symbol": "AAA", "ex_date": "2022-99-99"},
        {"kind": "interest", "amount": "5", "currency": "EUR", "fx": "0"},
        {"kind": "interest", "amount": "5", "currency": "EUR", "fx": "0.0"},
        {"kind": "position", "symbol": "AAA:USD:X", "quantity": "5", "fx": "1"},
        {"kind": "position", "symbol": ":USD", "quantity": "5"},
        {"kind": "position", "symbol": "AAA:x", "quantity": "5", "fx": "1"},
        {"kind": "gift"},
    ],
)
def test_fields_of_an_adjustment_that_do_not_go_together_are_refused(fields: dict[str, Any]) -> None:
    assert refusal(desk(), "adjust", **fields)[0] == "bad_request"


# -- all of them


FITTING: dict[str, dict[str, Any]] = {
    "cancel": {"order": "o"},
    "approve": {"order": "o"},
    "refuse": {"order": "o"},
    "deposit": {"book": "none", "amount": "1"},
    "withdraw": {"book": "none", "amount": "1"},
    "close_book": {"book": "none"},
    "pause": {"book": "none"},
    "resume": {"book": "none"},
    "halt": {"book": "none"},
    "reset": {"book": "none"},
    "flatten": {"book": "none"},
    "adopt_policy": {"policy": json.loads(canonical(POLICY)), "stated": []},
    "baseline": {},
    "adjust": {"kind": "fee", "amount": "1", "book": "none"},
    "rotate": {"who": "gate"},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_before_anything_ran_every_command_is_refused_in_words(command: str) -> None:
    code, message = refusal(Scribe(), command, **FITTING[command])
    assert code not in {"", "bad_request"}
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_every_field_of_every_command_says_what_is_accepted(command: str) -> None:
    wanted = wanted_of(COMMANDS[command])
    assert {"reason", "request"} <= set(wanted)
    assert "something else" not in wanted.values()
    for name in wanted:
        body = {"command": command, "reason": "r", "request": "q", **FITTING[command], name: {"x": [1]}}
        with pytest.raises(CommandRefused, match=f"^{name} must be "):
            read_command(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("command", "fields", "other"),
    [
        ("halt", {"book": "mo"}, {"book": "eq"}),
        ("halt", {}, {"liquidate": True}),
        ("deposit", {"book": "eq", "amount": "5.0"}, {"book": "mo", "amount": "5"}),
        ("withdraw", {"book": "eq", "amount": "5"}, {"book": "eq", "amount": "6"}),
        ("close_book", {"book": "mo"}, {"book": "eq"}),
        ("pause", {"book": "mo"}, {"book": "eq"}),
        ("adjust", {"kind": "fee", "amount": "5"}, {"kind": "fee", "amount": "6"}),
        ("adjust", {"kind": "fee", "amount": "5"}, {"kind": "fee", "amount": "5", "book": "eq"}),
    ],
)
def test_a_repeated_request_is_its_event_and_another_command_under_its_id_is_refused(
    command: str, fields: dict[str, Any], other: dict[str, Any]
) -> None:
    scribe = desk()
    found = draft(scribe, command, **fields)
    event = scribe.write("desk", found.data, found.about, book=found.book)
    body = {"command": command, "reason": "because", "request": "r1"}
    done = already_done(folded(scribe), read_command(json.dumps({**body, **fields}).encode()))
    assert done is not None
    assert (done.event, done.seq) == (event.id, event.seq)
    for changed in (other, {**fields, "reason": "something else"}):
        with pytest.raises(CommandRefused) as caught:
            already_done(folded(scribe), read_command(json.dumps({**body, **changed}).encode()))
        assert caught.value.code == "request_reused"


def test_ids_of_the_opening_events_are_no_free_request_ids() -> None:
    scribe = desk()
    for request in ("eq", "_desk"):
        body = {"command": "deposit", "book": "eq", "amount": "5", "reason": "r", "request": request}
        command = read_command(json.dumps(body).encode())
        with pytest.raises(CommandRefused) as caught:
            already_done(folded(scribe), command)
        assert caught.value.code == "request_reused"


def test_a_paused_source_is_told_with_its_reason() -> None:
    scribe = desk()
    scribe.write("desk", SourcePaused("holidays"), "p1", book="eq")
    assert "holidays" in refusal(scribe, "pause", book="eq")[1]
