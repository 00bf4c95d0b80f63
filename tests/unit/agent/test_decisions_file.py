"""The file source: JSON lines of decisions, checked before anything is written."""

import os
from pathlib import Path

import pytest

from services.agent.sources import Proposal, SourceError, check_source, open_source
from services.agent.sources.decisions import Decisions, parse_decisions
from services.agent.sources.loader import MAX_FILE_BYTES
from shared.protocol.market import ProposedOrder
from shared.protocol.reasons import StopReason
from tests.unit.agent.views import SESSIONS, view


def propose(text: str, index: int = 0) -> Proposal:
    """What the decisions of `text` propose in session `index`."""
    return parse_decisions("d.jsonl", text).propose(view({"AAA": "10"}, index=index))


def line(order: str, day: str = SESSIONS[0]) -> str:
    """A line with one order."""
    return f'{{"date": "{day}", "orders": [{order}]}}'


def test_orders_of_the_session_are_proposed_as_listed() -> None:
    text = line(
        '{"symbol": "BRK B", "currency": "USD", "side": "buy", "quantity": "3", "limit": "9.50", "reason": "why",'
        ' "exchange": "SMART", "confidence": "0.7"}, '
        '{"symbol": "AAA", "currency": "USD", "side": "SELL", "quantity": "1", "limit": "8"}'
    )

    assert propose(text).orders == (
        ProposedOrder("BRK B", "USD", "buy", "3", "9.5", "why", "SMART", "0.7"),
        ProposedOrder("AAA", "USD", "SELL", "1", "8"),
    )


def test_a_date_that_is_not_listed_is_a_hold() -> None:
    proposal = propose(line("", SESSIONS[1]), index=0)

    assert (proposal.orders, proposal.stop_reason) == ((), StopReason.HELD)
    assert proposal.summary == "nothing is listed for 2022-09-14"


def test_a_listed_date_without_orders_is_a_submission_of_nothing() -> None:
    assert propose(line("")).stop_reason is StopReason.SUBMITTED


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("10", "10"),
        ("10.50", "10.5"),
        ('"10.50"', "10.5"),
        ("0.1", "0.1"),
        ("1e3", "1000"),
        ('"1E+3"', "1000"),
        ("-0.0", "0"),
        ("123456789012345678.123456789", "123456789012345678.123456789"),
        ('"NaN"', "NaN"),
        ('"Infinity"', "Infinity"),
        ('"-Infinity"', "-Infinity"),
        ("null", None),
    ],
)
def test_numbers_are_kept_exactly_as_text_whether_written_as_text_or_number(written: str, kept: str | None) -> None:
    text = line(f'{{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": {written}, "limit": {written}}}')

    assert [(order.quantity, order.limit) for order in propose(text).orders] == [(kept, kept)]


def test_an_absent_limit_is_left_for_the_gate_to_refuse() -> None:
    assert propose(line('{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": 1}')).orders[0].limit is None


def test_byte_order_mark_blank_lines_crlf_and_line_separators_in_texts_are_no_trouble() -> None:
    separator = "\N{LINE SEPARATOR}"
    order = f'{{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": 1, "limit": 2, "reason": "a{separator}b"}}'

    decisions = parse_decisions("d.jsonl", f"\r\n{line(order)}\r\n\r\n{line('', SESSIONS[1])}\r\n\r\n")

    assert sorted(decisions.by_date) == [SESSIONS[0], SESSIONS[1]]


GOOD = line("", "2022-01-03")
ORDER = '{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": 1, "limit": 2'


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ('{"date": "2022-09-14", "orders": [], "note": 1}', "unknown field `note`"),
        (
            line('{"symbol": "AAA", "currency": "USD", "side": "BUY", "qty": 1, "limit": 2}'),
            "unknown field `qty` - at `$.orders[0]`",
        ),
        ('{"orders": []}', "missing required field `date`"),
        ('{"date": "2022-09-14"}', "missing required field `orders`"),
        (line('{"currency": "USD", "side": "BUY", "quantity": 1, "limit": 2}'), "missing required field `symbol`"),
        ("[]", "Expected `object`"),
        ("{", "no JSON, at column 2"),
        ("date,orders", "no JSON, at column 1"),
        ('{"date": "2022-09-31", "orders": []}', "no date that exists"),
        ('{"date": "2022-9-14", "orders": []}', "$.date"),
        ('{"date": "2022-09-14T00:00:00Z", "orders": []}', "$.date"),
        ('{"date": "2022-01-03", "orders": []}', "2022-01-03 is listed twice"),
        ('{"date": "2022-09-14", "date": "2022-09-15", "orders": []}', "'date' stands twice"),
        ('{"date": "2022-09-14", "orders": "[]"}', "Expected `array`"),
        (line('{"symbol": 5, "currency": "USD", "side": "BUY", "quantity": 1, "limit": 2}'), "$.orders[0].symbol"),
        (
            line('{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": true, "limit": 2}'),
            "expected a number or its text",
        ),
        (line('{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": "1,5", "limit": 2}'), "'1,5' is not a number"),
        (line('{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": "1_000", "limit": 2}'), "'1_000' is not a number"),
        (line('{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": "", "limit": 2}'), "'' is not a number"),
        (line('{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": NaN, "limit": 2}'), 'write it as text, "NaN"'),
        (line('{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": 1e99, "limit": 2}'), "out of range"),
        (line(ORDER + ', "confidence": 1.01}'), "confidence 1.01 is not within 0 and 1"),
        (line(ORDER + ', "confidence": "NaN"}'), "confidence NaN is not within 0 and 1"),
        (line(ORDER + f', "reason": "{"x" * 501}"}}'), "length <= 500"),
        (line('{"symbol": "", "currency": "USD", "side": "BUY", "quantity": 1, "limit": 2}'), "length >= 1"),
        (line(f'{{"symbol": "{"A" * 33}", "currency": "USD", "side": "BUY", "quantity": 1, "limit": 2}}'), "length <= 32"),
        (line('{"symbol": "A\\u0000A", "currency": "USD", "side": "BUY", "quantity": 1, "limit": 2}'), "control characters"),
        (line('{"symbol": "\\u212aO", "currency": "USD", "side": "BUY", "quantity": 1, "limit": 2}'), "not in normal form"),
        (line('{"symbol": "\\ud800", "currency": "USD", "side": "BUY", "quantity": 1, "limit": 2}'), "control characters"),
        ("[" * 100_000, "lists and objects stand too deep in one another; a line is an object of date and orders"),
        ('{"date":' * 100_000, "too deep"),
    ],
)
def test_a_bad_line_is_refused_naming_file_and_line(bad: str, says: str) -> None:
    with pytest.raises(SourceError) as raised:
        parse_decisions("d.jsonl", f"{GOOD}\n\n{bad}\n")

    assert str(raised.value).startswith("d.jsonl, line 3: ")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    assert (raised.value.file, raised.value.line) == ("d.jsonl", 3)


@pytest.mark.parametrize("empty", ["", "\n\n", " \r\n"])
def test_a_file_without_a_decision_is_refused(empty: str) -> None:
    with pytest.raises(SourceError, match=r"^d.jsonl: no decision in it"):
        parse_decisions("d.jsonl", empty)


def test_more_than_99_orders_load_because_they_are_the_sources_fault_at_run_time() -> None:
    assert len(propose(line(", ".join([ORDER + "}"] * 100))).orders) == 100


def test_a_missing_file_is_refused_naming_its_path(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"missing\.jsonl: cannot be read"):
        check_source("file", str(tmp_path / "missing.jsonl"))


def test_a_path_with_a_null_is_refused() -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        check_source("file", "a\0b")


def test_only_a_regular_file_is_read_and_nothing_else_is_even_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "link", Path("/dev/zero")):
        with pytest.raises(SourceError, match="is no regular file"):
            check_source("file", str(path))


def test_a_file_over_the_bound_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "d.jsonl").open("wb") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(SourceError, match=f"over {MAX_FILE_BYTES} bytes"):
        check_source("file", str(tmp_path / "d.jsonl"))


def test_a_file_that_is_not_utf8_is_refused_naming_the_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.jsonl"
    file.write_bytes(GOOD.encode() + b'\n{"date": "2022-01-04", "orders": [], "\xe9": 1}\n')

    with pytest.raises(SourceError, match=r"latin.jsonl, line 2: byte 0xe9 is not UTF-8"):
        check_source("file", str(file))


def test_a_good_file_passes_the_check_and_opens(tmp_path: Path) -> None:
    file = tmp_path / "good.jsonl"
    file.write_text("\ufeff" + GOOD, encoding="utf-8")

    check_source("file", str(file))

    assert open_source("file", str(file)) == Decisions({"2022-01-03": ()})
