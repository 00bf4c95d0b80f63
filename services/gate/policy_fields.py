"""What each key of a policy file accepts, and how its value is read."""

from collections.abc import Callable
from decimal import Decimal
from typing import Final, NamedTuple

from shared.protocol.instants import TimeError, zone
from shared.protocol.market import QuoteKind
from shared.protocol.money import Exact, parse_number

MAX_DECIMALS: Final = 8
MAX_WHOLE: Final = 1_000_000_000
MAX_AMOUNT: Final = Decimal(10) ** 15

_STEP: Final = Decimal(1).scaleb(-MAX_DECIMALS)
_HUNDRED: Final = Decimal(100)


class TomlFloat(str):
    """The text of a TOML number with a point or exponent (also `nan` and `inf`), so that it is converted exactly."""

    __slots__ = ()


class Field(NamedTuple):
    """How a value is read and what is accepted; `read` raises `ValueError` for anything else."""

    read: Callable[[object], object]
    accepted: str


def read_number(value: object) -> Exact:
    """A number from TOML text, float or integer, exactly as written; never a boolean, NaN or infinite."""
    if isinstance(value, TomlFloat):
        return Exact(parse_number(value.replace("_", "")))
    if isinstance(value, str):
        return Exact(parse_number(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Exact(value)
    raise ValueError("not a number")


def number(low: int, high: Decimal, *, low_open: bool, high_open: bool = False) -> Callable[[object], Exact]:
    """A reader of numbers between two bounds with at most 8 decimals."""

    def read(value: object) -> Exact:
        found = read_number(value)
        if found < low or (low_open and found == low) or found > high or (high_open and found == high):
            raise ValueError("out of range")
        if found % _STEP:
            raise ValueError("too many decimals")
        return found

    return read


def percentage(*, zero: bool = False, hundred: bool = True, most: int = 100) -> Field:
    """A percentage, as decimal text or TOML number."""
    opening, closing = "[" if zero else "(", "]" if hundred else ")"
    read = number(0, Decimal(most), low_open=not zero, high_open=not hundred)
    return Field(read, f"must be a number in {opening}0, {most}{closing} with at most {MAX_DECIMALS} decimals")


def money(*, zero: bool) -> Field:
    """An amount of money."""
    read = number(0, MAX_AMOUNT, low_open=not zero)
    return Field(read, f"must be a number {'≥' if zero else '>'} 0 with at most {MAX_DECIMALS} decimals")


def whole(low: int, high: int = MAX_WHOLE) -> Field:
    """A whole number: a TOML integer."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("not an integer")
        if not low <= value <= high:
            raise ValueError("out of range")
        return value

    return Field(read, f"must be an integer in {low}..{high}")


def _boolean(value: object) -> bool:
    """`true` or `false`, never text."""
    if not isinstance(value, bool):
        raise ValueError("not a boolean")
    return value


def choice(*options: str) -> Field:
    """One of some words."""

    def read(value: object) -> str:
        if isinstance(value, TomlFloat) or not isinstance(value, str) or value not in options:
            raise ValueError("not one of these")
        return value

    return Field(read, f"must be one of {', '.join(options)}")


def _quote_kinds(value: object) -> tuple[QuoteKind, ...]:
    """Kinds of quotes, in one order whatever the file's."""
    if not isinstance(value, list) or not all(isinstance(kind, str) and kind in QuoteKind.__members__.values() for kind in value):
        raise ValueError("not a list of these")
    return tuple(kind for kind in QuoteKind if kind in value)


def _zone_name(value: object) -> str:
    """A time zone that is known here."""
    if isinstance(value, TomlFloat) or not isinstance(value, str):
        raise ValueError("not a name")
    try:
        zone(value)
    except OSError as error:
        raise TimeError(f"{value[:64]!r} is a group of time zones, not one") from error
    return value


def _currency(value: object) -> str:
    """Three capital letters."""
    if isinstance(value, TomlFloat) or not isinstance(value, str) or not is_currency(value):
        raise ValueError("not a currency")
    return value


def is_currency(text: str) -> bool:
    """Whether `text` is spelled as a currency is."""
    return len(text) == 3 and text.isascii() and text.isalpha() and text.isupper()


CURRENCY: Final = Field(_currency, 'must be a currency of three capital letters, like "USD"')
BOOLEAN: Final = Field(_boolean, "must be true or false")

LIMIT_FIELDS: Final[dict[str, Field]] = {
    "max_position_pct": percentage(),
    "max_trades_per_month": whole(0),
    "month_timezone": Field(_zone_name, 'must be an IANA time zone, like "Australia/Sydney"'),
    "max_drawdown_pct": percentage(),
    "drawdown_confirmations": whole(1, 10),
    "max_price_deviation_pct": percentage(most=20),
    "max_commission_pct": percentage(),
    "allow_fractional": BOOLEAN,
    "exits_exempt": BOOLEAN,
    "max_quote_age_s": whole(1),
    "quote_kinds": Field(_quote_kinds, f"must be a list of some of {', '.join(QuoteKind)}"),
    "max_order_notional": money(zero=False),
    "max_gross_pct": percentage(),
    "max_orders_per_day": whole(0),
    "max_daily_loss_pct": percentage(),
    "min_cash_pct": percentage(zero=True, hundred=False),
    "approval_above": money(zero=True),
    "foreign_currency": choice("allow", "deny"),
    "watch_s": whole(60),
    "approval_ttl_s": whole(1),
    "cash_tolerance": money(zero=True),
    "cash_drift_pct": percentage(zero=True, hundred=False),
    "untrusted": choice("allow", "approve", "deny"),
}
"""Keys of `[policy.limits]`; the defaults stand in `shared.protocol.policy.Limits`."""

ACCOUNT_FIELDS: Final[dict[str, Field]] = {
    "max_gross_pct": percentage(),
    "max_position_pct": percentage(),
    "max_orders_per_day": whole(0),
}
"""Keys of `[policy.account]`."""

COMMISSION_FIELDS: Final[dict[str, Field]] = {
    "currency": CURRENCY,
    "per_share": money(zero=True),
    "minimum": money(zero=True),
    "maximum_pct": percentage(zero=True),
}
"""Keys of `[[policy.commission]]`, all needed."""
