"""What each event writes into the read models."""

import pytest

from services.journal.changes import OrderChange, OrderFilled, RunChange, changed_columns
from services.journal.desk_rows import OperationRow, ReconciliationRow
from services.journal.projection import changes, index_row
from services.journal.rows import (
    BookRow,
    DecisionRow,
    DepositRow,
    FillRow,
    OrderRow,
    ProposalRow,
    ReasonRow,
    RunRow,
    ValuationRow,
    VerdictRow,
)
from shared.protocol.envelope import EnvelopeError, Event, sha256_hex
from shared.protocol.events import (
    AccountBaselined,
    AccountReconciled,
    AdjustmentBooked,
    ApprovalGiven,
    BookClosed,
    BookOpened,
    BookValued,
    CancelOrdered,
    CashDeposited,
    CashWithdrawn,
    ClockAdvanced,
    Data,
    Decision,
    Difference,
    EventData,
    FillSettled,
    FlattenOrdered,
    HaltOrdered,
    HaltReset,
    HaltTripped,
    HoldingValued,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrdersUsed,
    OrderWithheld,
    ProposalMade,
    Reason,
    ReconciliationFailed,
    RunCleared,
    RunEnded,
    RunSettled,
    RunStarted,
    RunStopped,
    SourceFailed,
    SourcePaused,
    StateHashed,
    Verdict,
)
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import Exact, Money
from shared.protocol.reasons import OrderEnd, Rule, RunStatus, SourceFault, StopReason, Withheld
from tests.unit.journal.desk_log import DeskLog

AT = "2026-01-05T15:30:00.000000Z"
RUN = "20260105T1030-alpha-1"
ORDER = f"{RUN}-1"


def event(author: str, data: EventData, run: str | None = RUN, mode: str = "sim") -> Event:
    """The first event of a log."""
    return DeskLog().write(author, "alpha", "about", AT, data, run=run, mode=mode)


def test_every_event_has_an_index_row_with_the_hash_of_its_stored_bytes():
    log = DeskLog()
    log.write("desk", "alpha", "alpha", AT, BookOpened("scripted", "USD"))
    row = index_row(log.events[0])
    assert (row.seq, row.id, row.type, row.author) == (1, "desk:BookOpened:alpha", "BookOpened", "desk")
    assert (row.book, row.run, row.at, row.sha256) == ("alpha", None, AT, sha256_hex(log.stored[0].payload))


def test_a_book_and_its_deposit_have_a_row_each():
    assert changes(event("desk", BookOpened("momentum", "USD"), None)) == [BookRow("alpha", "momentum", "USD", AT, 1)]
    deposit = CashDeposited(Exact("10000.5"), "opening")
    told = '{"amount":"10000.5","reason":"opening"}'
    assert changes(event("desk", deposit, None)) == [
        DepositRow(1, "alpha", AT, Exact("10000.5"), "opening"),
        OperationRow(1, "CashDeposited", "desk", "alpha", AT, "opening", told),
    ]


@pytest.mark.parametrize(
    ("data", "amount"),
    [(CashWithdrawn(Exact(7), "rent"), "-7"), (BookClosed(Exact(9), "rent"), "-9")],
)
def test_what_leaves_a_book_is_a_negative_deposit(data: CashWithdrawn | BookClosed, amount: str):
    flow, told = changes(event("desk", data, None))
    assert flow == DepositRow(1, "alpha", AT, Exact(amount), "rent")
    assert isinstance(told, OperationRow)
    assert (told.type, told.reason) == (type(data).__name__, "rent")


@pytest.mark.parametrize(
    ("author", "data", "reason"),
    [
        ("desk", HaltOrdered("alpha", "full", False, "stop"), "stop"),
        ("gate", HaltTripped("alpha", "full", True, "kill_switch", "too low", None, None, None, None, ()), "too low"),
        ("desk", HaltReset("alpha", "go"), "go"),
        ("desk", FlattenOrdered("alpha", None, "out"), "out"),
        ("desk", SourcePaused("holidays"), "holidays"),
        ("desk", ApprovalGiven(ORDER, "fine"), "fine"),
        ("desk", AdjustmentBooked("fee", "USD", Exact(-1), "data"), "data"),
        ("desk", AccountBaselined("DU1", {}, {}, "mine"), "mine"),
    ],
)
def test_everything_that_is_ordered_has_a_row_with_its_reason(author: str, data: EventData, reason: str):
    (row,) = changes(event(author, data, None))
    assert isinstance(row, OperationRow)
    assert (row.type, row.author, row.reason) == (type(data).__name__, author, reason)


def test_every_look_at_the_account_has_a_row_with_what_differs():
    agreed, differs = AccountReconciled("DU1", {}, {}, ()), ReconciliationFailed("DU1", (Difference("cash USD", "1", "2"),))
    (row,) = changes(event("executor", agreed))
    assert isinstance(row, ReconciliationRow)
    assert (row.failed, row.differences) == (False, "[]")
    (row,) = changes(event("executor", differs))
    assert isinstance(row, ReconciliationRow)
    assert (row.failed, row.differences) == (True, '[{"expected":"1","found":"2","what":"cash USD"}]')


def test_a_run_begins_with_its_source_slot_and_session():
    (row,) = changes(event("agent", RunStarted("momentum", AT, "2026-01-05", ("AAA:USD",))))
    assert row == RunRow(RUN, "alpha", "momentum", AT, "2026-01-05", AT, 1, "started")


@pytest.mark.parametrize(
    ("author", "data", "expected"),
    [
        (
            "gate",
            RunCleared(Exact(10), (Rule.DRAWDOWN,)),
            {"stage": "cleared", "value": Exact(10), "buys_blocked": '["drawdown"]'},
        ),
        ("gate", RunCleared(None), {"stage": "cleared", "value": None, "buys_blocked": "[]"}),
        ("gate", RunStopped(RunStatus.HALTED, "halted by hand"), {"stage": "stopped", "message": "halted by hand"}),
        ("agent", SourceFailed(SourceFault.CRASHED, "boom"), {"stage": "failed", "fault": "crashed", "message": "boom"}),
        ("executor", RunSettled(1, 2, 3), {"stage": "settled", "withheld": 1, "filled": 2, "unfilled": 3}),
        ("agent", RunEnded(RunStatus.OK, "done"), {"stage": "ended", "status": "ok", "message": "done", "ended_at": AT}),
        ("agent", RunEnded(RunStatus.HALTED, ""), {"stage": "ended", "status": "halted", "ended_at": AT}),
    ],
)
def test_each_stage_changes_only_its_own_columns_of_the_run(author: str, data: EventData, expected: dict[str, object]):
    (change,) = changes(event(author, data))
    assert isinstance(change, RunChange)
    assert change.id == RUN
    assert changed_columns(change) == expected


def test_a_proposal_keeps_its_orders_word_for_word():
    orders = (ProposedOrder("NA", "USD", "BUY", "NaN", None, "because", confidence="0.5"),)
    row, stage = changes(event("agent", ProposalMade("claude", orders, "sum", StopReason.SUBMITTED, Money(Exact("0.01"), "USD"))))
    assert isinstance(row, ProposalRow)
    assert (row.order_count, row.summary, row.stop_reason, row.cost, row.cost_currency) == (
        1,
        "sum",
        "submitted",
        Exact("0.01"),
        "USD",
    )
    assert row.orders == (
        '[{"confidence":"0.5","currency":"USD","exchange":null,"limit":null,"quantity":"NaN","reason":"because","side":"BUY","symbol":"NA"}]'
    )
    assert stage == RunChange(RUN, stage="proposed")


def decision(index: int, *, approved: bool, reasons: tuple[Reason, ...] = ()) -> Decision:
    """A decision about one share of `NA`."""
    order = f"{RUN}-{index}" if approved else None
    return Decision(
        index, "NA", "USD", "BUY", Exact(1), Exact(10), approved, False, Exact(10), Exact(1), Exact(1), reasons, None, order
    )


def test_a_verdict_has_decisions_reasons_and_the_orders_it_approves():
    collar = Reason(Rule.PRICE_COLLAR, Exact(2), Exact("2.5"), Exact("-0.5"), "too far")
    cash = Reason(Rule.CASH, None, None, None, "too little")
    decisions = (decision(1, approved=True), decision(2, approved=False, reasons=(collar, cash)))
    verdict = Verdict("proposal", decisions, (), Exact(100), Exact(0), "p", "1", (), AT)
    found = changes(event("gate", verdict))
    assert found[0] == VerdictRow(1, RUN, "alpha", "proposal", AT, 1, 1, Exact(100), Exact(0), "p", "1", AT)
    first, second = (row for row in found if isinstance(row, DecisionRow))
    assert (first.order_id, first.first_rule, first.reasons) == (ORDER, None, "[]")
    assert (second.order_id, second.first_rule) == (None, "price_collar")
    assert [row for row in found if isinstance(row, ReasonRow)] == [
        ReasonRow(1, 2, 1, RUN, "alpha", "price_collar", Exact(2), Exact("2.5"), Exact("-0.5"), "too far"),
        ReasonRow(1, 2, 2, RUN, "alpha", "cash", None, None, None, "too little"),
    ]
    (order,) = (row for row in found if isinstance(row, OrderRow))
    assert (order.id, order.order_index, order.state, order.filled, order.approved_at) == (ORDER, 1, "approved", Exact(0), AT)


def test_what_blocks_a_whole_batch_is_the_first_rule_of_orders_without_a_reason_of_their_own():
    block = (Reason(Rule.VALUATION, None, None, None, "no value"),)
    verdict = Verdict("proposal", (decision(1, approved=False),), block, None, None, "p", "1", (), AT)
    found = changes(event("gate", verdict))
    assert [row.first_rule for row in found if isinstance(row, DecisionRow)] == ["valuation"]
    assert [(row.order_index, row.rule) for row in found if isinstance(row, ReasonRow)] == [(0, "valuation")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            OrderIntended(ORDER, "NA", "USD", "SMART", Side.BUY, Exact(1), Exact(10), ORDER),
            {"state": "intended", "exchange": "SMART", "intended_at": AT},
        ),
        (OrderPlaced(ORDER, "7", "working"), {"state": "working", "permanent_id": "7", "placed_at": AT}),
        (OrderPlaced(ORDER, "7", "done"), {"state": "done", "permanent_id": "7", "placed_at": AT}),
        (
            OrderClosed(ORDER, OrderEnd.EXPIRED, Exact("0.5"), "bye"),
            {"state": "closed", "filled": Exact("0.5"), "ended_at": AT, "ended_as": "expired", "message": "bye"},
        ),
        (
            OrderWithheld(ORDER, Withheld.UNFUNDED, "no cash"),
            {"state": "withheld", "withheld": "unfunded", "message": "no cash", "ended_at": AT},
        ),
    ],
)
def test_each_step_of_an_order_changes_only_its_own_columns(data: EventData, expected: dict[str, object]):
    (change,) = changes(event("executor", data))
    assert isinstance(change, OrderChange)
    assert change.id == ORDER
    assert changed_columns(change) == expected


def test_a_cancel_order_stands_in_the_order_row():
    change, told = changes(event("desk", CancelOrdered(ORDER, "mistake")))
    assert change == OrderChange(ORDER, cancel_reason="mistake")
    assert isinstance(told, OperationRow)


def test_a_fill_has_a_row_and_adds_to_its_order():
    fill = FillSettled(ORDER, "0001.1", "NA", "USD", Side.SELL, Exact(2), Exact(10), Money(Exact(1), "USD"), Exact(1), Exact(19))
    row, added = changes(event("executor", fill))
    assert row == FillRow(
        1, "0001.1", ORDER, RUN, "alpha", AT, "NA", "USD", "SELL", Exact(2), Exact(10), Exact(1), "USD", Exact(1), Exact(19)
    )
    assert added == OrderFilled(ORDER, Exact(2))


def test_a_valuation_keeps_unknown_apart_from_zero():
    holdings = (HoldingValued("NA", "USD", Exact(1), None, None),)
    data = BookValued("close", Exact(5), holdings, None, Exact(9), None, None, OrdersUsed(4, 1), (), "x")
    (row,) = changes(event("gate", data, None))
    assert isinstance(row, ValuationRow)
    assert (row.cash, row.value, row.peak, row.drawdown_pct, row.used_month, row.used_day) == (
        Exact(5),
        None,
        Exact(9),
        None,
        4,
        1,
    )
    assert row.holdings == '[{"currency":"USD","price":null,"quantity":"1","symbol":"NA","value":null}]'


def broken(log: DeskLog, kind: type[Data]) -> Event:
    """The last event of a log as if its data were an empty object."""
    found = log.events[-1]
    raw = found.payload.replace(bytes(found.envelope.data), b"{}")
    from shared.protocol.envelope import read_event

    return read_event(found.seq, f"ev.{found.author}.{found.book}.{kind.__name__}", raw)


def test_types_without_rows_are_not_decoded():
    log = DeskLog()
    log.write("desk", "_desk", "x", AT, ClockAdvanced(AT, "slot", "2026-01-05"))
    assert changes(broken(log, ClockAdvanced)) == []
    assert changes(event("gate", StateHashed("2026-01-05", "0" * 64), None)) == []


def test_data_that_does_not_fit_its_type_is_an_error():
    log = DeskLog()
    log.write("desk", "alpha", "x", AT, BookOpened("scripted", "USD"))
    with pytest.raises(EnvelopeError, match="BookOpened"):
        changes(broken(log, BookOpened))


def test_of_a_dry_run_there_is_its_course_and_nothing_else():
    (row,) = changes(event("agent", RunStarted("momentum", AT, "2026-01-05", ()), mode="dry"))
    assert isinstance(row, RunRow)
    assert row.mode == "dry"
    verdict = Verdict("proposal", (), (), None, None, "p", "1", (), AT)
    assert changes(event("gate", verdict, mode="dry")) == [RunChange(row.id, stage="judged")]
    assert changes(event("executor", OrderWithheld("x", Withheld.HALT, ""), mode="dry")) == []
