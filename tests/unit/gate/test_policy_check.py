"""A policy that comes whole, by a request, is held to what a file is held to."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.policy import PolicyError, load_policy
from services.gate.policy_check import check_policy
from shared.protocol.market import Instrument, QuoteKind
from shared.protocol.money import Exact
from shared.protocol.policy import AccountLimits, Commission, Limits, Policy

ROWS = (Instrument("AAA", "SMART", "USD"), Instrument("BBB", "SMART", "USD"))
USD = Commission("USD", Exact("0.005"), Exact(1), Exact(1))
PLAIN = Policy("USD", Limits(), universe=ROWS, commission=(USD,))
TEXT = """
[policy]
base_currency = "USD"
[policy.limits]
max_drawdown_pct = "20"
approval_above = 4000
quote_kinds = ["sim", "live"]
min_cash_pct = 0
[policy.account]
max_orders_per_day = 0
[[policy.commission]]
currency = "USD"
per_share = "0.005"
minimum = "1.00"
maximum_pct = "1"
"""


def test_what_a_file_states_passes(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(TEXT)
    loaded = load_policy(tmp_path / "policy.toml", default_universe=ROWS)
    check_policy(loaded.policy, loaded.stated)
    check_policy(PLAIN, ())
    check_policy(PLAIN, ("max_drawdown_pct",))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("month_timezone", "Mars/X"),
        ("max_drawdown_pct", Exact(-5)),
        ("max_drawdown_pct", Exact("100.1")),
        ("max_price_deviation_pct", Exact(21)),
        ("drawdown_confirmations", 0),
        ("max_trades_per_month", -1),
        ("quote_kinds", (QuoteKind.SIM, QuoteKind.LIVE)),
        ("foreign_currency", "x"),
        ("untrusted", "x"),
        ("watch_s", -1),
        ("max_quote_age_s", 0),
        ("approval_ttl_s", 0),
        ("cash_tolerance", Exact(-1)),
        ("cash_drift_pct", Exact(100)),
        ("max_order_notional", Exact(0)),
        ("max_order_notional", None),
    ],
)
def test_a_limit_out_of_range_is_refused(key: str, value: Any) -> None:
    with pytest.raises(PolicyError, match=key):
        check_policy(replace(PLAIN, limits=replace(PLAIN.limits, **{key: value})), (key,))


def test_a_limit_that_is_not_stated_would_not_be_in_the_hash_and_is_refused() -> None:
    with pytest.raises(PolicyError, match="max_drawdown_pct"):
        check_policy(replace(PLAIN, limits=Limits(max_drawdown_pct=Exact(20))), ())
    with pytest.raises(PolicyError, match=r"account\.max_gross_pct"):
        check_policy(replace(PLAIN, account=AccountLimits(max_gross_pct=Exact(20))), ())


def test_without_its_own_word_untrusted_follows_from_approvals() -> None:
    asks = Limits(approval_above=Exact(1))
    with pytest.raises(PolicyError, match="untrusted"):
        check_policy(replace(PLAIN, limits=asks), ("approval_above",))
    check_policy(replace(PLAIN, limits=replace(asks, untrusted="approve")), ("approval_above",))
    check_policy(replace(PLAIN, limits=asks), ("approval_above", "untrusted"))


@pytest.mark.parametrize("stated", [("max_everything",), ("watch_s", "watch_s"), ("gross",)])
def test_stated_names_limits_each_once(stated: tuple[str, ...]) -> None:
    with pytest.raises(PolicyError, match="stated"):
        check_policy(PLAIN, stated)


@pytest.mark.parametrize(
    "broken",
    [
        replace(PLAIN, base_currency="usd"),
        replace(PLAIN, commission=(USD, USD)),
        replace(PLAIN, commission=(replace(USD, minimum=Exact(-1)),)),
        replace(PLAIN, universe=()),
        replace(PLAIN, universe=ROWS[::-1]),
        replace(PLAIN, universe=(*ROWS, Instrument("BBB", "ASX", "USD"))),
        replace(PLAIN, universe=(Instrument("aaa", "SMART", "USD"),)),
        replace(PLAIN, universe=(Instrument("AAA", "SMART", "USD", "n" * 101),)),
    ],
)
def test_parts_that_no_file_could_name_are_refused(broken: Policy) -> None:
    with pytest.raises(PolicyError):
        check_policy(broken, ())


def test_instruments_of_the_policy_in_force_are_known_however_they_are_spelled() -> None:
    odd = (Instrument("aaa", "SMART", "USD"),)
    check_policy(replace(PLAIN, universe=odd), (), known=odd)
