"""Runs that failed are named, and seen in the exit code; a resumed run's first fill is no news; narrow screens."""

import pytest

from services.desk.closing import HEAD, folded
from services.desk.errors import RunFailed
from services.desk.failures import check_runs, failure_lines
from services.desk.options import plain_words
from services.desk.progress import FirstFill
from services.desk.tally import BookTally, Failures, Tally
from services.desk.wording import counted
from shared.protocol.events import RunEnded
from shared.protocol.reasons import RunStatus
from tests.unit.desk.histories import History, approves, plan_of


def ended(*ends: tuple[RunStatus, str]) -> History:
    """A history of one slot in which a run of the book f, then of g, ended."""
    books = ("f", "g")[: len(ends)]
    history = History(plan_of(*books)).opens()
    history.step()
    for book, (status, message) in zip(books, ends, strict=True):
        run = history.started(book)
        history.add("agent", book, run, RunEnded(status, message), run)
    return history


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("source_failed", 1),
        ("error", 1),
        ("unsettled", 1),
        ("broker_not_ready", 2),
        ("market_data_unavailable", 2),
        ("reconcile_failed", 3),
    ],
)
def test_a_failed_run_ends_the_command_with_its_exit_code_and_message(status: str, code: int) -> None:
    history = ended((RunStatus(status), "too_many_orders: 100 orders"))
    with pytest.raises(RunFailed, match="but 1 run failed") as failed:
        check_runs(history.state.tally)
    assert failed.value.exit_code == code
    assert failed.value.details == (f"f: 1 run failed ({status}): too_many_orders: 100 orders",)


@pytest.mark.parametrize(
    "status",
    [
        *("ok", "held", "dry_run", "market_closed", "order_limit_reached", "llm_budget_exhausted"),
        *("halted", "kill_switch", "aborted"),
    ],
)
def test_every_other_end_is_no_failure(status: str) -> None:
    check_runs(ended((RunStatus(status), "why")).state.tally)


def test_of_several_failures_a_failed_reconciliation_counts_first_then_what_went_wrong_then_what_was_missing() -> None:
    def code(*statuses: RunStatus) -> int:
        with pytest.raises(RunFailed) as failed:
            check_runs(ended(*((status, "why") for status in statuses)).state.tally)
        return failed.value.exit_code

    assert code(RunStatus.MARKET_DATA_UNAVAILABLE, RunStatus.ERROR) == 1
    assert code(RunStatus.ERROR, RunStatus.RECONCILE_FAILED) == 3


def test_equal_messages_are_said_once_and_only_the_first_three_different_ones() -> None:
    failures = Failures()
    for message in ("a", "a", "b", "c", "d", "d"):
        failures = failures.with_one(message)
    tally = Tally({"f": BookTally(failed={RunStatus.SOURCE_FAILED.value: failures})})
    assert failure_lines(tally) == ("f: 6 runs failed (source_failed): a; b; c; …",)


def test_the_first_fill_is_announced_once_and_not_when_it_stood_in_the_log_before() -> None:
    history = History(plan_of()).opens()
    history.step()
    run = history.started("alpha")
    history.judged(run, "alpha", approves(1, run))
    order = history.placed(run, "alpha", 1)
    new, resumed = FirstFill(0.0), FirstFill(0.0)
    assert new.line(history.state) is None
    history.filled(order, "alpha", 10)
    assert "alpha bought 10 AAPL at 100 USD" in (new.line(history.state) or "")
    assert new.line(history.state) is None
    assert resumed.line(history.state) is None
    assert resumed.line(history.state) is None


def test_a_folded_table_has_every_amount_whole_and_no_line_beyond_forty_columns() -> None:
    row = ("a_book_with_a_long_name_of_32_chr", "123456789012.34", "-12.34", "99.99", "12345", "1234", "1234", "1234567.89")
    lines = folded([HEAD, row, ("buy and hold", "1.00", "unknown", "0.00", "", "", "", "")])
    assert lines[:2] == [row[0], "  value: 123456789012.34"]
    assert lines[-4:] == ["buy and hold", "  value: 1.00", "  return %: unknown", "  drawdown %: 0.00"]
    assert all(len(line) <= 40 for line in lines)


def test_numbers_and_nouns_agree() -> None:
    assert [counted(n, "order") for n in (0, 1, 2)] == ["0 orders", "1 order", "2 orders"]


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("Input should be a valid integer, unable to parse string as an integer", "a whole number is needed"),
        ("Input should be greater than or equal to 0", "at least 0 is needed"),
        ("Input should be less than or equal to 7", "at most 7 is possible"),
        ("No such option: --x", "No such option: --x"),
    ],
)
def test_the_option_parsers_words_are_made_plain(said: str, plain: str) -> None:
    assert plain_words(f"Invalid value: {said}") == f"Invalid value: {plain}"
