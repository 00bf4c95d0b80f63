"""The policy in force, resolved: limits, universe and commission schedule as `PolicyAdopted` carries them."""

from typing import Final

import msgspec

from shared.protocol.market import Instrument, QuoteKind
from shared.protocol.money import Exact


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[policy.limits]` with every default filled in; None means that the rule is off. Percentages are 0 to 100."""

    max_position_pct: Exact = Exact(25)
    max_trades_per_month: int = 10
    month_timezone: str = "Australia/Sydney"
    max_drawdown_pct: Exact = Exact(25)
    drawdown_confirmations: int = 2
    max_price_deviation_pct: Exact = Exact(2)
    max_commission_pct: Exact = Exact(10)
    allow_fractional: bool = False
    exits_exempt: bool = True
    max_quote_age_s: int = 1200
    quote_kinds: tuple[QuoteKind, ...] = (QuoteKind.LIVE, QuoteKind.DELAYED, QuoteKind.SIM)
    max_order_notional: Exact | None = None
    max_gross_pct: Exact | None = None
    max_orders_per_day: int | None = None
    max_daily_loss_pct: Exact | None = None
    min_cash_pct: Exact | None = None
    approval_above: Exact | None = None
    foreign_currency: str = "allow"
    watch_s: int = 900
    approval_ttl_s: int = 3600
    cash_tolerance: Exact = Exact(1)
    cash_drift_pct: Exact = Exact("0.5")
    untrusted: str = "allow"


class AccountLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[policy.account]`: limits over the sum of all books; None means off."""

    max_gross_pct: Exact | None = None
    max_position_pct: Exact | None = None
    max_orders_per_day: int | None = None


class Commission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fee schedule of one currency: `per_share` and `minimum` in it, `maximum_pct` of the notional."""

    currency: str
    per_share: Exact
    minimum: Exact
    maximum_pct: Exact


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that verdicts depend on besides evidence and books."""

    base_currency: str
    limits: Limits = Limits()
    account: AccountLimits = AccountLimits()
    universe: tuple[Instrument, ...] = ()
    commission: tuple[Commission, ...] = ()

    def instrument(self, key: str) -> Instrument | None:
        """The universe's row for `SYMBOL:CURRENCY`."""
        return _index(self).get(key)

    def schedule(self, currency: str) -> Commission | None:
        """The fee schedule of a currency, None if there is none: then the commission is unknown."""
        return next((row for row in self.commission if row.currency == currency), None)


_CACHE: Final[dict[int, tuple[Policy, dict[str, Instrument]]]] = {}
_CACHED_POLICIES: Final = 16


def _index(policy: Policy) -> dict[str, Instrument]:
    """Universe by key, built once per policy object; the entry holds the object, so its id cannot be reused."""
    found = _CACHE.get(id(policy))
    if found is None:
        if len(_CACHE) >= _CACHED_POLICIES:
            _CACHE.clear()
        found = _CACHE[id(policy)] = (policy, {row.key: row for row in policy.universe})
    return found[1]
