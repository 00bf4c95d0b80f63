"""Price files: what loads, what is refused and how it is said."""

import hashlib
import os
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from services.simulator.prices import MAX_FILE_BYTES, Bar, PriceFileError, load_prices
from tests.unit.simulator.worlds import HEADER

GOOD = HEADER + "2022-10-03,AAPL,10,12,9,11,500\n2022-10-03,MSFT,,,,20.5,\n2022-10-04,AAPL,,,,11.5,0\n"


def load(tmp_path: Path, content: str | bytes):
    path = tmp_path / "p.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_prices(path)


def refusal(tmp_path: Path, rows: str, header: str = HEADER) -> PriceFileError:
    with pytest.raises(PriceFileError) as caught:
        load(tmp_path, header + rows)
    return caught.value


def test_bars_sessions_symbols_and_hash_are_those_of_the_file(tmp_path):
    file = load(tmp_path, GOOD)
    assert file.sha256 == hashlib.sha256(GOOD.encode()).hexdigest()
    assert file.sessions == (date(2022, 10, 3), date(2022, 10, 4))
    assert file.symbols == ("AAPL", "MSFT")
    assert file.bar("AAPL", 0) == Bar(Decimal(10), Decimal(12), Decimal(9), Decimal(11), Decimal(500))
    assert file.bar("MSFT", 0) == Bar(None, None, None, Decimal("20.5"), None)


def test_what_is_not_there_is_unknown_and_never_zero(tmp_path):
    file = load(tmp_path, GOOD)
    assert file.bar("MSFT", 1) is None
    assert file.close("MSFT", 1) is None
    assert file.close("AAPL", -1) is None
    assert file.close("AAPL", 2) is None
    assert file.close("ZZZ", 0) is None
    assert file.index(date(2022, 10, 4)) == 1
    assert file.index(date(2022, 10, 5)) is None


def test_volume_zero_and_volume_absent_differ(tmp_path):
    file = load(tmp_path, GOOD)
    assert file.bar("AAPL", 1).volume == 0
    assert file.bar("MSFT", 0).volume is None


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.rstrip("\n").encode(),
        (GOOD + "\n\n").encode(),
        (GOOD + ",,,,,,\r\n").encode(),
        GOOD.replace("AAPL", '"AAPL"').encode(),
    ],
    ids=["byte order mark", "CRLF", "no final newline", "blank tail", "tail of commas", "quoted"],
)
def test_files_saved_by_spreadsheets_load_as_the_plain_file_does(tmp_path, content):
    plain, other = load(tmp_path, GOOD), load(tmp_path, content)
    assert (other.sessions, other.symbols, other.columns) == (plain.sessions, plain.symbols, plain.columns)


def test_symbols_are_text(tmp_path):
    names = ["7203", "BRK B", "FALSE", "NA", "NULL", "None", "TRUE", "nan"]
    file = load(tmp_path, HEADER + "".join(f"2022-10-03,{name},,,,1,\n" for name in names))
    assert file.symbols == tuple(names)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5.914", "5.914"),
        ("12.50", "12.5"),
        ("100.00", "100"),
        ("100", "100"),
        ("+1.5e1", "15"),
        (".5", "0.5"),
        ("007", "7"),
        ("0.10", "0.1"),
    ],
)
def test_number_texts_become_canonical(tmp_path, text, number):
    file = load(tmp_path, HEADER + f"2022-10-03,A,,,,{text},\n")
    assert file.fields("A", 0).close == number
    assert file.close("A", 0) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NaN", "not a number"),
        ("inf", "not a number"),
        ("abc", "not a number"),
        ("1_000", "not a number"),
        ("1 000", "not a number"),
        (" 5", "not a number"),
        ("٣", "not a number"),
        ("$5", "not a number"),
        ('"1,234.5"', "not a number"),
        ('"1,5"', "not a number"),
        ("0", "greater than 0"),
        ("0.000", "greater than 0"),
        ("-1", "greater than 0"),
        ("1" * 33, "at most 32 characters"),
        ("1e9999999", "not a number"),
        ("1e15", "12 digits"),
        ("0.0000000000001", "12 digits"),
    ],
)
def test_a_price_that_is_no_positive_number_is_refused_with_its_place(tmp_path, text, words):
    error = refusal(tmp_path, f"2022-10-03,A,,,,5,\n2022-10-04,A,,,,{text},\n")
    assert (error.file, error.line, error.column) == ("p.csv", 3, "close")
    assert str(error).startswith("p.csv, line 3, column close: found ")
    assert words in str(error)


def test_the_text_found_is_named(tmp_path):
    assert "found '1,5'" in str(refusal(tmp_path, '2022-10-03,A,,,,"1,5",\n'))


def test_a_negative_volume_is_refused(tmp_path):
    error = refusal(tmp_path, "2022-10-03,A,,,,5,-1\n")
    assert (error.line, error.column) == (2, "volume")


def test_decimal_commas_are_refused_with_the_line_and_the_text(tmp_path):
    error = refusal(tmp_path, "2022-10-03,A,,,,5,5,\n")
    assert str(error) == (
        "p.csv, line 2: 8 fields instead of 7, found '2022-10-03,A,,,,5,5,': "
        "write numbers with a point and no thousands separators"
    )


def test_semicolons_are_refused(tmp_path):
    assert "not semicolons" in str(refusal(tmp_path, "", HEADER.replace(",", ";")))
    assert "not semicolons" in str(refusal(tmp_path, "2022-10-03;A;;;;5;\n"))


@pytest.mark.parametrize(
    ("header", "column", "words"),
    [
        ("date,symbol,open,high,low,volume\n", "close", "missing"),
        ("date,symbol,open,high,low,close,volume,adjusted\n", "8", "found 'adjusted'"),
        ("date,symbol,open,low,high,close,volume\n", "4", "found 'low'"),
        ("Date,symbol,open,high,low,close,volume\n", "date", "missing"),
    ],
)
def test_any_other_header_is_refused(tmp_path, header, column, words):
    error = refusal(tmp_path, "", header)
    assert (error.line, error.column) == (1, column)
    assert words in str(error)
    assert "the header must be date,symbol,open,high,low,close,volume" in str(error)


@pytest.mark.parametrize(("content", "words"), [("", "empty"), ("\n", "empty"), (HEADER, "a header but no rows")])
def test_a_file_without_rows_is_refused(tmp_path, content, words):
    assert words in str(refusal(tmp_path, "", content))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2022-10-03T00:00:00", "plain YYYY-MM-DD"),
        ("2022-10-03 ", "plain YYYY-MM-DD"),
        ("20221003", "plain YYYY-MM-DD"),
        ("2022-W40-1", "plain YYYY-MM-DD"),
        ("03/10/2022", "plain YYYY-MM-DD"),
        ("２０２２-10-03", "plain YYYY-MM-DD"),
        ("2022-02-30", "no such day"),
        ("", "plain YYYY-MM-DD"),
    ],
)
def test_anything_but_a_plain_real_date_is_refused(tmp_path, text, words):
    error = refusal(tmp_path, f"{text},A,,,,5,\n")
    assert (error.line, error.column) == (2, "date")
    assert words in str(error)


def test_a_date_that_goes_back_is_refused(tmp_path):
    error = refusal(tmp_path, "2022-10-04,A,,,,5,\n2022-10-03,A,,,,5,\n")
    assert "column date: found 2022-10-03 after 2022-10-04" in str(error)


def test_a_date_beyond_the_calendar_is_refused(tmp_path):
    assert "the table covers" in str(refusal(tmp_path, "1999-12-31,A,,,,5,\n"))


def test_symbols_need_no_order_within_a_date(tmp_path):
    assert load(tmp_path, HEADER + "2022-10-03,B,,,,5,\n2022-10-03,A,,,,6,\n").symbols == ("A", "B")


def test_a_second_row_for_a_day_and_symbol_is_refused(tmp_path):
    error = refusal(tmp_path, "2022-10-03,A,,,,5,\n2022-10-03,B,,,,5,\n2022-10-03,A,,,,5,\n")
    assert (error.line, error.column) == (4, "symbol")
    assert "a second row for 'A' on 2022-10-03" in str(error)


def test_too_few_fields_are_refused_with_both_counts_and_without_talk_of_separators(tmp_path):
    error = refusal(tmp_path, "2022-10-03,A,5\n")
    assert str(error).startswith("p.csv, line 2: 3 fields instead of 7, found '2022-10-03,A,5': ")
    assert "thousands" not in str(error)


@pytest.mark.parametrize(
    ("symbol", "candidate"),
    [
        ("BRK.B", "BRK B"),
        ("BRK-B", "BRK B"),
        ("BRK/B", "BRK B"),
        ("BRK_B", "BRK B"),
        ("brk b", "BRK B"),
        ("BRK b", "BRK B"),
        ("BRK  B", "BRK B"),
        ("A.B", "A B"),
        ("ABCDE.PR", "ABCDE PR"),
    ],
)
def test_another_spelling_of_a_class_share_is_refused_with_the_right_one(tmp_path, symbol, candidate):
    error = refusal(tmp_path, f"2022-10-03,BRK A,,,,5,\n2022-10-03,{symbol},,,,5,\n")
    assert str(error) == f"p.csv, line 3, column symbol: found '{symbol}': class shares are written with a blank: '{candidate}'"


@pytest.mark.parametrize("symbol", ["0700.HK", "BTC-USD", "ABCDEF.B", "BRK B", "EUR=X", "^GSPC", "M&M", "aapl", "7203", "A1.B"])
def test_names_that_are_no_class_shares_stay_as_they_are(tmp_path, symbol):
    assert load(tmp_path, HEADER + f"2022-10-03,{symbol},,,,5,\n").symbols == (symbol,)


@pytest.mark.parametrize(("first", "second"), [("AAPL", "aapl"), ("BTC-USD", "BTC.USD"), ("0700.HK", "0700 HK"), ("Na", "NA")])
def test_two_spellings_of_one_name_are_refused_on_whatever_day_they_stand(tmp_path, first, second):
    error = refusal(tmp_path, f"2022-10-03,{first},,,,5,\n2022-10-04,{second},,,,5,\n")
    assert (error.line, error.column) == (3, "symbol")
    assert error.message == f"found '{second}' beside '{first}': write one name in one way"


@pytest.mark.parametrize(
    "symbol",
    ["", " A", "A ", "A:USD", "x" * 33, "A\x07", "A*", ">", "=A", "+A", "@A", "-A", "\u212a", "A\xa0B", "\u0410"],
)
def test_what_cannot_be_a_symbol_is_refused(tmp_path, symbol):
    error = refusal(tmp_path, f"2022-10-03,{symbol},,,,5,\n")
    assert (error.line, error.column) == (2, "symbol")


@pytest.mark.parametrize(
    ("prices", "column"),
    [
        ("10,12,11,11.5", "low"),
        ("12,13,11,10.99", "low"),
        ("10,10.5,9,11", "high"),
        ("12,11.99,9,11", "high"),
        (",9,9.5,", "low"),
        (",12,,12.01", "high"),
        (",,9.5,9.49", "low"),
    ],
)
def test_prices_of_one_bar_that_contradict_one_another_are_refused(tmp_path, prices, column):
    error = refusal(tmp_path, f"2022-10-03,A,{prices},100\n")
    assert (error.line, error.column) == (2, column)


def test_a_bar_that_stands_still_is_no_contradiction(tmp_path):
    assert load(tmp_path, HEADER + "2022-10-03,A,5,5.0,5.00,5,1\n").bar("A", 0).high == 5


def test_a_blank_line_between_rows_is_refused(tmp_path):
    error = refusal(tmp_path, "2022-10-03,A,,,,5,\n\n2022-10-04,A,,,,5,\n")
    assert str(error) == "p.csv, line 3: a blank line between rows: remove it"


def test_rows_on_days_that_are_no_session_are_dropped_with_a_warning_that_names_them(tmp_path):
    rows = "2022-11-23,A,,,,5,\n2022-11-24,A,,,,5,\n2022-11-24,B,,,,5,\n2022-11-25,A,,,,6,\n2022-11-26,A,,,,6,\n"
    file = load(tmp_path, HEADER + rows)
    assert file.sessions == (date(2022, 11, 23), date(2022, 11, 25))
    assert file.symbols == ("A",)
    assert file.warnings == ("dropped rows on days that are no sessions: 2022-11-24 (2 rows), 2022-11-26 (1 row)",)


def test_rows_that_would_be_dropped_are_checked_all_the_same(tmp_path):
    assert refusal(tmp_path, "2022-11-24,A,,,,x,\n").column == "close"


def test_a_file_of_holidays_only_is_refused(tmp_path):
    assert "only days that are no sessions" in str(refusal(tmp_path, "2022-11-24,A,,,,5,\n"))


def test_the_callers_own_calendar_decides_what_is_a_session(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(HEADER + "2022-11-24,A,,,,5,\n")
    assert load_prices(path, lambda day: True).sessions == (date(2022, 11, 24),)


def test_a_gap_inside_a_symbols_span_is_said(tmp_path):
    rows = "2022-10-03,A,,,,5,\n2022-10-03,B,,,,7,\n2022-10-04,B,,,,7,\n2022-10-05,A,,,,5,\n"
    rows += "2022-10-05,B,6,8,,,\n2022-10-06,B,,,,7,\n"
    assert load(tmp_path, HEADER + rows).warnings == (
        "A has no close on 2022-10-04: unknown on those days",
        "B has no close on 2022-10-05: unknown on those days",
    )


def test_a_close_alone_among_whole_bars_of_its_symbol_is_said_with_how_many_and_the_first_line(tmp_path):
    rows = "2022-10-03,A,5,6,4,5,\n2022-10-03,B,,,,7,\n2022-10-04,B,,,,7,\n2022-10-04,A,,,,5,\n2022-10-05,A,5,,4,5,\n"
    assert load(tmp_path, HEADER + rows).warnings == (
        "A has 2 of its rows without open, high or low, the first on line 5: on those days it trades by closes alone",
    )


def test_a_bar_without_a_close_is_no_bar(tmp_path):
    file = load(tmp_path, HEADER + "2022-10-03,A,5,6,4,,100\n2022-10-04,A,,,,5,\n")
    assert file.bar("A", 0) is None


@pytest.mark.parametrize(
    ("before", "row", "ratio"),
    [
        ("100", ",,,50,", "2:1"),
        ("100", ",,,49.02,", "2:1"),
        ("100", ",,,49.01,", None),
        ("100", ",,,51.02,", "2:1"),
        ("100", ",,,51.03,", None),
        ("100", ",,,25,", "4:1"),
        ("100", ",,,1000,", "1:10"),
        ("100", ",,,150,", None),
        ("100", ",,,66.67,", None),
        ("100", "50,51,49,50.5,", "2:1"),
        ("100", "99,100,49,50,", None),
    ],
)
def test_a_jump_overnight_that_looks_like_a_split_is_said(tmp_path, before, row, ratio):
    file = load(tmp_path, HEADER + f"2022-10-03,A,,,,{before},\n2022-10-04,A,{row}\n")
    assert [jump.ratio for jump in file.jumps] == ([ratio] if ratio else [])
    assert sum("split" in warning for warning in file.warnings) == len(file.jumps)


def test_the_warning_names_symbol_day_and_prices(tmp_path):
    file = load(tmp_path, HEADER + "2022-10-03,A,,,,100,\n2022-10-04,A,,,,25.5,\n")
    assert file.warnings == ("A on 2022-10-04: from 100 to 25.5 looks like a 4:1 split; holdings are not adjusted",)


@pytest.mark.parametrize(("data", "line"), [(b"\xff\xfe", 1), (HEADER.encode() + b"2022-10-03,\xe9,,,,5,\n", 2)])
def test_text_that_is_not_utf_8_is_refused_with_the_line(tmp_path, data, line):
    with pytest.raises(PriceFileError, match="is not UTF-8") as caught:
        load(tmp_path, data)
    assert caught.value.line == line


def test_a_broken_quote_is_refused_with_the_line(tmp_path):
    assert refusal(tmp_path, '2022-10-03,"A"x,,,,5,\n').line == 2


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(PriceFileError, match="cannot be read"):
        load_prices(tmp_path / "none.csv")


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "link to a device"])
def test_only_a_regular_file_is_read_and_nothing_else_is_even_opened(tmp_path, kind):
    path = tmp_path / "p.csv"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link to a device":
            path.symlink_to("/dev/zero")
        case _:
            path = Path("/dev/zero")
    with pytest.raises(PriceFileError, match="is no regular file"):
        load_prices(path)


def test_a_link_to_a_regular_file_is_read(tmp_path):
    (tmp_path / "given.csv").write_text(GOOD)
    (tmp_path / "p.csv").symlink_to(tmp_path / "given.csv")
    assert load_prices(tmp_path / "p.csv").symbols == ("AAPL", "MSFT")


def test_a_file_over_the_bound_is_refused_unread(tmp_path):
    with (tmp_path / "p.csv").open("wb") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(PriceFileError, match=f"over {MAX_FILE_BYTES} bytes"):
        load_prices(tmp_path / "p.csv")


def test_a_file_of_exactly_the_bound_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("services.simulator.prices.MAX_FILE_BYTES", len(GOOD))
    assert load(tmp_path, GOOD).symbols == ("AAPL", "MSFT")
    with pytest.raises(PriceFileError, match="over"):
        load(tmp_path, GOOD + "\n")


def test_a_path_with_a_null_is_said():
    with pytest.raises(PriceFileError, match="cannot be read"):
        load_prices(Path("a\0b"))


def test_the_bundled_file_is_the_one_that_its_readme_describes():
    import services.simulator.settings as settings

    file = load_prices(settings.DATA)
    assert file.sha256 == "b3f51dc3d2e6133e2c49027ad05b8fde992b8656dde4c5a20083127459daf0ad"
    assert (len(file.sessions), len(file.symbols)) == (3775, 20)
    assert (file.sessions[0], file.sessions[-1]) == (date(2008, 1, 2), date(2022, 12, 28))
    assert file.close("AAPL", 0) == Decimal("5.914")
    assert file.warnings == ()
