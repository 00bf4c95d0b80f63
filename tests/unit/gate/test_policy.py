"""The policy's file: what it means, and everything it refuses with file, key, value and what is accepted."""

from pathlib import Path
from typing import Any

import pytest

from services.gate.policy import PolicyError, load_policy
from shared.protocol.market import Instrument, QuoteKind
from shared.protocol.policy import Limits

DEFAULT = (Instrument("AAA", "SMART", "USD"),)
FEES = """
[[policy.commission]]
currency = "USD"
per_share = "0.005"
minimum = "1.00"
maximum_pct = "1"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "propdesk.toml"
    path.write_text(text, "utf-8")
    return path


def loaded(folder: Path, limits: str = "", more: str = FEES, universe: Any = DEFAULT) -> Any:
    text = f'[policy]\nbase_currency = "USD"\n[policy.limits]\n{limits}\n{more}'
    return load_policy(write(folder, text), default_universe=universe)


def refused(folder: Path, text: str, **given: Any) -> str:
    """The message of a refusal; it is one line that starts with the file."""
    path = write(folder, text)
    with pytest.raises(PolicyError) as error:
        load_policy(path, **{"default_universe": DEFAULT, **given})
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_what_is_not_stated_has_its_default(tmp_path: Path) -> None:
    found = loaded(tmp_path)

    assert found.policy.limits == Limits()
    assert found.stated == ()
    assert found.warnings == ()


def test_the_defaults_are_those_of_the_specification() -> None:
    limits = Limits()
    on = {
        "max_position_pct": "25",
        "max_trades_per_month": "10",
        "month_timezone": "Australia/Sydney",
        "max_drawdown_pct": "25",
        "drawdown_confirmations": "2",
        "max_price_deviation_pct": "2",
        "max_commission_pct": "10",
        "allow_fractional": "False",
        "exits_exempt": "True",
        "max_quote_age_s": "1200",
        "foreign_currency": "allow",
        "watch_s": "900",
        "approval_ttl_s": "3600",
        "cash_tolerance": "1",
        "cash_drift_pct": "0.5",
        "untrusted": "allow",
    }
    off = ("max_order_notional", "max_gross_pct", "max_orders_per_day", "max_daily_loss_pct", "min_cash_pct", "approval_above")

    assert {name: str(getattr(limits, name)) for name in on} == on
    assert limits.quote_kinds == (QuoteKind.LIVE, QuoteKind.DELAYED, QuoteKind.SIM)
    assert [getattr(limits, name) for name in off] == [None] * len(off)
    assert set(on) | set(off) | {"quote_kinds"} == set(Limits.__struct_fields__)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('"25.5"', "25.5"),
        ("25.5", "25.5"),
        ("25", "25"),
        ("0.1", "0.1"),
        ("2.5e1", "25"),
        ("99.99999999", "99.99999999"),
        ("1_0.5", "10.5"),
        ("100", "100"),
        ('"0.00000001"', "0.00000001"),
    ],
)
def test_numbers_are_converted_exactly_from_their_text(tmp_path: Path, written: str, expected: str) -> None:
    assert str(loaded(tmp_path, f"max_position_pct = {written}").policy.limits.max_position_pct) == expected


def test_every_key_can_be_stated(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        """
        max_position_pct = "20"
        max_trades_per_month = 0
        month_timezone = "America/New_York"
        max_drawdown_pct = "10"
        drawdown_confirmations = 1
        max_price_deviation_pct = "20"
        max_commission_pct = "5"
        allow_fractional = true
        exits_exempt = false
        max_quote_age_s = 60
        quote_kinds = ["close", "live", "live"]
        max_order_notional = "1000"
        max_gross_pct = "90"
        max_orders_per_day = 3
        max_daily_loss_pct = "5"
        min_cash_pct = "0"
        approval_above = "0"
        foreign_currency = "deny"
        watch_s = 60
        approval_ttl_s = 1
        cash_tolerance = "0"
        cash_drift_pct = "0"
        untrusted = "deny"
        [policy.account]
        max_gross_pct = "80"
        max_position_pct = "15"
        max_orders_per_day = 9
        """,
    )

    assert set(found.stated) == set(Limits.__struct_fields__) | {
        "account.max_gross_pct",
        "account.max_position_pct",
        "account.max_orders_per_day",
    }
    assert found.policy.limits.quote_kinds == (QuoteKind.LIVE, QuoteKind.CLOSE)
    assert str(found.policy.account.max_position_pct) == "15"
    assert found.policy.limits.exits_exempt is False


@pytest.mark.parametrize(
    ("limits", "mode"),
    [("", "allow"), ('approval_above = "0"', "approve"), ('approval_above = "0"\nuntrusted = "allow"', "allow")],
)
def test_untrusted_asks_for_approval_where_approvals_are_on(tmp_path: Path, limits: str, mode: str) -> None:
    found = loaded(tmp_path, limits)

    assert found.policy.limits.untrusted == mode
    assert ("untrusted" in found.stated) is ("untrusted" in limits)


@pytest.mark.parametrize(
    ("line", "accepted"),
    [
        ('max_position_pct = "0"', "(0, 100]"),
        ('max_position_pct = "100.00000001"', "(0, 100]"),
        ('max_position_pct = "0.123456789"', "8 decimals"),
        ("max_position_pct = true", "number"),
        ("max_position_pct = nan", "number"),
        ("max_position_pct = inf", "number"),
        ("max_position_pct = -inf", "number"),
        ('max_position_pct = "NaN"', "number"),
        ('max_position_pct = "Infinity"', "number"),
        ('max_position_pct = "1_0"', "number"),
        ('max_position_pct = " 10"', "number"),
        ('max_position_pct = ""', "number"),
        ("max_position_pct = [25]", "number"),
        ("max_position_pct = 2022-10-03", "number"),
        ("max_trades_per_month = -1", "integer"),
        ("max_trades_per_month = 10.9", "integer"),
        ("max_trades_per_month = 10.0", "integer"),
        ('max_trades_per_month = "10"', "integer"),
        ("max_trades_per_month = true", "integer"),
        ("max_trades_per_month = 1000000001", "integer"),
        ('month_timezone = "Sydney"', "IANA"),
        ('month_timezone = "America"', "IANA"),
        ('month_timezone = ""', "IANA"),
        ('month_timezone = "../etc/passwd"', "IANA"),
        ("month_timezone = 1.5", "IANA"),
        ('max_drawdown_pct = "0"', "(0, 100]"),
        ("drawdown_confirmations = 0", "1..10"),
        ("drawdown_confirmations = 11", "1..10"),
        ('max_price_deviation_pct = "0"', "(0, 20]"),
        ('max_price_deviation_pct = "20.01"', "(0, 20]"),
        ('max_commission_pct = "101"', "(0, 100]"),
        ('allow_fractional = "false"', "true or false"),
        ("allow_fractional = 0", "true or false"),
        ('exits_exempt = "yes"', "true or false"),
        ("max_quote_age_s = 0", "integer"),
        ('quote_kinds = ["live", "last"]', "live, delayed, frozen, close, sim"),
        ('quote_kinds = "live"', "live, delayed, frozen, close, sim"),
        ('max_order_notional = "0"', "> 0"),
        ('max_gross_pct = "0"', "(0, 100]"),
        ("max_orders_per_day = -1", "integer"),
        ('max_daily_loss_pct = "0"', "(0, 100]"),
        ('min_cash_pct = "100"', "[0, 100)"),
        ('min_cash_pct = "-1"', "[0, 100)"),
        ('approval_above = "-0.01"', "≥ 0"),
        ('foreign_currency = "Allow"', "allow, deny"),
        ("watch_s = 59", "60.."),
        ("approval_ttl_s = 0", "integer"),
        ('cash_tolerance = "-1"', "≥ 0"),
        ('cash_drift_pct = "100"', "[0, 100)"),
        ('untrusted = "no"', "allow, approve, deny"),
    ],
)
def test_a_value_that_is_not_accepted_is_refused_with_key_value_and_what_is(tmp_path: Path, line: str, accepted: str) -> None:
    key, _, value = line.partition(" = ")
    message = refused(tmp_path, f'[policy]\nbase_currency = "USD"\n[policy.limits]\n{line}')

    assert message.startswith(f"policy.limits.{key} = {value}: " if "[" not in value else f"policy.limits.{key} = ")
    assert accepted in message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "[policy]: the section is missing"),
        ("[desk]\nname = 1", "[policy]: the section is missing"),
        ("[limits]\nmax_position_pct = 25", "limits: must stand under [policy]"),
        ("policy = 1", "policy = 1: must be a section"),
        ("[policy]\n[policy.limits]", "policy.base_currency: is missing"),
        ('[policy]\nbase_currency = "usd"', 'policy.base_currency = "usd": must be a currency'),
        ("[policy]\nbase_currency = 1", "policy.base_currency = 1: must be a currency"),
        ('[policy]\nbase_currency = "USD"\nlimit = 1', "policy.limit = 1: unknown key; accepted: base_currency, limits"),
        ('[policy]\nbase_currency = "USD"\nlimits = 1', "policy.limits = 1: must be a section"),
        ('[policy]\nbase_currency = "USD"\n[policy.limits]\nmax_position = 1', "policy.limits.max_position = 1: unknown key"),
        (
            '[policy]\nbase_currency = "USD"\n[policy.account]\nmax_drawdown_pct = 1',
            "policy.account.max_drawdown_pct = 1: unknown key",
        ),
        ('[policy]\nbase_currency = "USD"\n[policy.account]\nmax_gross_pct = 101', "policy.account.max_gross_pct = 101: must be"),
        ('[policy]\nbase_currency = "USD"\n[policy.commission]\ncurrency = "USD"', "policy.commission = "),
        ('[policy]\nbase_currency = "USD"\n[policy.limits', "is not valid TOML"),
        ("a = 1\na = 2", "is not valid TOML"),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused(tmp_path: Path, text: str, told: str) -> None:
    assert refused(tmp_path, text).startswith(told)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('currency = "USD"\n', "", "policy.commission[0].currency: is missing"),
        ('minimum = "1.00"\n', "", "policy.commission[0].minimum: is missing"),
        ('per_share = "0.005"', "per_share = -1", "policy.commission[0].per_share = -1: must be"),
        ('maximum_pct = "1"', 'maximum_pct = "101"', 'policy.commission[0].maximum_pct = "101": must be'),
        ('maximum_pct = "1"', 'maximum_pct = "1"\nmax = 1', "policy.commission[0].max = 1: unknown key"),
        ('maximum_pct = "1"', f'maximum_pct = "1"\n{FEES}', 'policy.commission[1].currency = "USD": has a schedule already'),
    ],
)
def test_a_fee_schedule_that_is_incomplete_or_out_of_range_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = f'[policy]\nbase_currency = "USD"\n{FEES.replace(old, new)}'

    assert refused(tmp_path, text).startswith(told)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(PolicyError, match=r": (cannot be read|is no regular file)"):
            load_policy(path, default_universe=DEFAULT)
    (tmp_path / "latin.toml").write_bytes(b"[policy]\n# caf\xe9")
    with pytest.raises(PolicyError, match="is not valid TOML"):
        load_policy(tmp_path / "latin.toml", default_universe=DEFAULT)


def test_a_base_currency_other_than_the_books_is_refused(tmp_path: Path) -> None:
    text = '[policy]\nbase_currency = "EUR"'

    assert refused(tmp_path, text, book_currency="USD").startswith(
        'policy.base_currency = "EUR": must be the currency of the book, USD'
    )
    assert load_policy(write(tmp_path, text), default_universe=DEFAULT, book_currency="EUR").policy.base_currency == "EUR"


def test_a_currency_of_the_universe_without_fees_is_a_warning(tmp_path: Path) -> None:
    found = loaded(tmp_path, universe=(*DEFAULT, Instrument("BHP", "ASX", "AUD")))

    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("AUD ")


def test_other_sections_of_the_file_are_not_looked_at(tmp_path: Path) -> None:
    text = f'[desk]\nanything = true\n[[source]]\nname = "x"\n[policy]\nbase_currency = "USD"\n{FEES}'

    assert load_policy(write(tmp_path, text), default_universe=DEFAULT).policy.base_currency == "USD"
