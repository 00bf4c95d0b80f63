"""What is counted and printed at the end of a run. Expected numbers are worked out on paper."""

from decimal import Decimal

from services.desk.report import blocked_by, buy_and_hold, report_of
from services.desk.tally import BookTally
from shared.ledger.hashing import book_hash, state_hash
from shared.protocol.events import CashDeposited, RunEnded
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, Rule, RunStatus, Withheld
from tests.unit.desk.histories import History, approves, blocks, plan_of


def slot(*books: str) -> tuple[History, str]:
    """A history in its first slot with a run of the first book."""
    history = History(plan_of(*books)).opens()
    history.step()
    return history, history.started(history.plan.args.books[0].book)


def test_orders_are_counted_as_decisions_and_filled_once_however_many_fills_they_have() -> None:
    history, run = slot()
    history.judged(run, "alpha", *(approves(n, run) for n in (1, 2, 3, 4)), blocks(5, Rule.CASH))
    whole, part, none = (history.placed(run, "alpha", n) for n in (1, 2, 3))
    history.withheld(f"{run}-4", "alpha", Withheld.UNFUNDED)
    history.filled(whole, "alpha", 4, "e1")
    history.filled(whole, "alpha", 6, "e2")
    history.filled(part, "alpha", 1, "e3")
    history.ended(whole, "alpha", OrderEnd.FILLED, 10)
    history.ended(part, "alpha", OrderEnd.EXPIRED, 1)
    history.ended(none, "alpha", OrderEnd.EXPIRED, 0)
    history.add("agent", "alpha", run, RunEnded(RunStatus.OK, ""), run)

    (book,) = report_of(history.state, 99, 1.5).books

    assert (book.proposed, book.approved, book.blocked, book.filled) == (5, 4, 1, 2)
    assert book.fees == "3.00"
    ends = [history.state.tally.ended[f"{run}-{n}"] for n in (1, 2, 3, 4)]
    assert ends == ["filled", "expired", "expired", "withheld (unfunded)"]


def test_the_value_is_the_last_closing_one_and_the_return_is_against_deposits() -> None:
    history = History(plan_of()).opens()
    history.valued("alpha", "10500", "1")
    history.valued("alpha", "10123.456", "2")
    (book,) = report_of(history.state, 1, 0.0).books
    assert (book.value, book.return_pct) == ("10123.46", "1.23")


def test_the_drawdown_is_the_largest_fall_from_the_running_maximum_which_starts_at_the_deposit() -> None:
    history = History(plan_of()).opens()
    for day, value in enumerate(("9000", "12000", "9600", "11000")):
        history.valued("alpha", value, str(day))
    (book,) = report_of(history.state, 1, 0.0).books
    assert book.max_drawdown_pct == "20.00"


def test_a_deposit_is_neither_profit_nor_does_it_hide_a_fall() -> None:
    """9,000 of 10,000 is 10 % down; with 9,000 more and no change of price the book is still 10 % down."""
    history = History(plan_of()).opens()
    history.valued("alpha", "9000", "1")
    history.add("desk", "alpha", "top-up", CashDeposited(Exact(10_000), "more"))
    (high,) = (tally.high for tally in history.state.tally.books.values())
    assert high == 20_000
    history.valued("alpha", "18000", "2")
    (book,) = report_of(history.state, 1, 0.0).books
    assert book.max_drawdown_pct == "10.00"
    assert book.return_pct == "-10.00"


def test_an_unknown_last_value_is_unknown_and_not_an_older_one() -> None:
    history = History(plan_of()).opens()
    history.valued("alpha", "9000", "1")
    history.valued("alpha", None, "2")
    (book,) = report_of(history.state, 1, 0.0).books
    assert (book.value, book.return_pct, book.max_drawdown_pct) == (None, None, "10.00")


def test_the_document_has_the_hashes_of_the_ledger_and_the_last_sequence_as_its_events() -> None:
    history = History(plan_of("alpha", "beta")).opens()
    document = report_of(history.state, 6, 1.23456).document()
    ledger = history.state.ledger
    assert document["state_hash"] == state_hash(ledger)
    assert (document["events"], document["last_seq"], document["seconds"]) == (6, 6, 1.235)
    books = document["books"]
    assert isinstance(books, list)
    assert [book["state_hash"] for book in books] == [book_hash(book) for book in ledger.books.values()]
    assert books[0]["orders"] == {"proposed": 0, "approved": 0, "blocked": 0, "filled": 0}


def test_a_rule_counts_once_per_order_and_the_most_frequent_comes_first() -> None:
    history, run = slot()
    history.judged(
        run, "alpha", blocks(1, Rule.CASH, Rule.CASH, Rule.POSITION), blocks(2, Rule.POSITION), blocks(3, Rule.QUANTITY)
    )
    assert blocked_by(history.state.tally.books["alpha"]) == "position 2, cash 1, quantity 1"


def test_buy_and_hold_puts_equal_amounts_into_every_name_at_the_first_close() -> None:
    """A doubles, B halves: (2 + 0.5) / 2 = 1.25. On the way: (1 + 1) / 2, then (1.5 + 0.5) / 2, then 1.25."""
    closes = {"A": ("10", "15", "20"), "B": ("8", "4", "4")}

    def close(symbol: str, at: int) -> Decimal | None:
        return Decimal(closes[symbol][at])

    found = buy_and_hold(closes, range(3), close)
    assert (found.return_pct, found.max_drawdown_pct, found.growth) == ("25.00", "0.00", Decimal("1.25"))


def test_buy_and_hold_leaves_out_a_name_without_a_first_close_and_keeps_the_last_close_over_a_gap() -> None:
    closes = {"A": ("10", None, "5"), "B": (None, "8", "16")}

    def close(symbol: str, at: int) -> Decimal | None:
        text = closes[symbol][at]
        return None if text is None else Decimal(text)

    found = buy_and_hold(closes, range(3), close)
    assert (found.return_pct, found.max_drawdown_pct) == ("-50.00", "50.00")
    assert buy_and_hold(["B"], range(1), close).return_pct is None


def test_a_book_that_never_lost_has_no_drawdown() -> None:
    tally = BookTally(high=Exact(100)).closed_at(Exact(100)).closed_at(Exact(101))
    assert tally.drawdown_pct == 0
