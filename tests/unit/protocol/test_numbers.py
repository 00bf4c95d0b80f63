"""Numbers and times: one spelling each, everything else refused."""

import pickle
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from shared.protocol.envelope import EnvelopeError, canonical, decode
from shared.protocol.instants import TimeError, compact, local_day, parse, parse_day, to_text, zone
from shared.protocol.money import Exact, Money, NumberError, Price, divide, parse_number, tick_down, tick_up, two_decimals


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("1E+3", "1000"),
        ("1.500", "1.5"),
        ("-0", "0"),
        ("-0.00", "0"),
        ("1e-7", "0.0000001"),
        ("00012", "12"),
        (".5", "0.5"),
        ("+7.", "7"),
    ],
)
def test_a_number_is_normalised_when_built(given: str, text: str) -> None:
    assert str(Exact(given)) == text
    assert canonical({"x": Exact(given)}) == f'{{"x":"{text}"}}'.encode()


@pytest.mark.parametrize(
    "text",
    ["NaN", "Infinity", "-inf", "1_000", "١", " 1", "1 ", "1,5", "0x1", "", "1e99", "1" * 65, "1e-31", "--1", "1.2.3", "e5"],
)
def test_text_that_is_no_plain_number_is_refused_naming_it(text: str) -> None:
    with pytest.raises(NumberError):
        parse_number(text)


@pytest.mark.parametrize(
    "payload", ['"1.500"', '"1E+3"', '"-0"', '"NaN"', "1.5", "1", "null", '"01"', '"1."', '"+1"', '"0.0"', "true"]
)
def test_what_is_not_canonical_is_not_read_from_an_event(payload: str) -> None:
    with pytest.raises(EnvelopeError):
        decode(Money, f'{{"amount":{payload},"currency":"USD"}}'.encode())


def test_a_float_never_becomes_a_number() -> None:
    with pytest.raises(NumberError, match="float"):
        Exact(1.5)  # type: ignore[arg-type]


def test_forty_digits_survive() -> None:
    text = "1234567890123456789.012345678901234567891"
    assert str(Exact(text)) == text
    assert pickle.loads(pickle.dumps(Exact(text))) == Exact(text)


def test_a_plain_decimal_cannot_be_slipped_past_normalisation_as_an_exact() -> None:
    assert type(Exact("2") + 1) is Decimal


def test_division_rounds_half_even_to_twelve_decimals() -> None:
    assert divide(Decimal(1), Decimal(3)) == Exact("0.333333333333")
    assert divide(Decimal("0.0000000000005"), Decimal(1)) == Exact("0")
    assert divide(Decimal("0.0000000000015"), Decimal(1)) == Exact("0.000000000002")


def test_ticks_round_to_the_side_asked_for() -> None:
    assert (tick_down(Decimal("10.019"), Decimal("0.01")), tick_up(Decimal("10.011"), Decimal("0.01"))) == (
        Exact("10.01"),
        Exact("10.02"),
    )
    assert tick_up(Decimal("10.01"), Decimal("0.01")) == Exact("10.01")


@pytest.mark.parametrize(
    ("value", "text"), [("1.5", "1.50"), ("-0.001", "0.00"), ("2.345", "2.34"), ("2.355", "2.36"), ("1000", "1000.00")]
)
def test_reports_show_two_decimals_half_even(value: str, text: str) -> None:
    assert two_decimals(Decimal(value)) == text


def test_two_currencies_are_never_added() -> None:
    with pytest.raises(NumberError, match="USD and AUD"):
        Money(Exact(1), "USD") + Money(Exact(1), "AUD")
    assert Price(Exact("2.5"), "USD").times(Decimal(4)) == Money(Exact(10), "USD")


def test_a_time_has_six_digits_and_is_utc_whatever_its_offset() -> None:
    assert to_text(datetime(2022, 1, 1, tzinfo=UTC)) == "2022-01-01T00:00:00.000000Z"
    assert to_text(datetime(2022, 1, 1, 12, tzinfo=timezone(timedelta(hours=10)))) == "2022-01-01T02:00:00.000000Z"
    assert compact("2022-10-03T14:30:00.000000Z") == "20221003T143000Z"


@pytest.mark.parametrize(
    "text", ["2022-01-01T00:00:00Z", "2022-01-01T00:00:00.000000", "2022-02-30T00:00:00.000000Z", "2022-01-01 00:00:00.000000Z"]
)
def test_another_spelling_of_a_time_is_refused(text: str) -> None:
    with pytest.raises(TimeError):
        parse(text)


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(TimeError, match="no zone"):
        to_text(datetime(2022, 1, 1))  # noqa: DTZ001


def test_an_unknown_zone_names_the_package_to_install() -> None:
    with pytest.raises(TimeError, match="tzdata"):
        zone("Mars/Olympus")


def test_half_past_ten_in_new_york_on_the_last_of_september_is_october_in_sydney() -> None:
    assert local_day("2022-09-30T14:30:00.000000Z", "Australia/Sydney") == "2022-10-01"


@pytest.mark.parametrize("text", ["2022-1-01", "20220101", "2022-02-30", "2022-01-01T00", "２０２２-01-01"])
def test_only_plain_dates_are_days(text: str) -> None:
    with pytest.raises(TimeError):
        parse_day(text)
