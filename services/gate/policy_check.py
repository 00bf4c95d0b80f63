"""Whether a whole policy is one that a file could state: what comes by a request is held to what a file is held to."""

from typing import Final

import msgspec

from services.gate.policy import PolicyError
from services.gate.policy_fields import ACCOUNT_FIELDS, COMMISSION_FIELDS, CURRENCY, LIMIT_FIELDS, Field
from services.gate.universe import MAX_INSTRUMENTS, MAX_TEXT_CHARS, fault_of
from shared.protocol.market import Instrument
from shared.protocol.money import Exact
from shared.protocol.policy import AccountLimits, Limits, Policy

WHERE: Final = "policy"


def check_policy(policy: Policy, stated: tuple[str, ...], known: tuple[Instrument, ...] = ()) -> None:
    """Raise `PolicyError` for values out of range, for limits that are not `stated` and no defaults, and for a universe that no
    file could name; `known` instruments are those of the policy in force, which may come from prices.
    """
    _check(CURRENCY, "base_currency", policy.base_currency)
    _check_limits("", policy.limits, _defaults(policy, stated), LIMIT_FIELDS, stated)
    _check_limits("account.", policy.account, AccountLimits(), ACCOUNT_FIELDS, stated)
    accepted = {*LIMIT_FIELDS, *(f"account.{key}" for key in ACCOUNT_FIELDS)}
    unknown = next((key for key in stated if key not in accepted), None)
    if unknown is not None or len(set(stated)) != len(stated):
        raise PolicyError(WHERE, "stated", unknown, "names limits of a policy file, each once")
    for index, row in enumerate(policy.commission):
        for key, field in COMMISSION_FIELDS.items():
            _check(field, f"commission[{index}].{key}", getattr(row, key))
    currencies = [row.currency for row in policy.commission]
    if currencies != sorted(set(currencies)):
        raise PolicyError(WHERE, "commission", None, "has one schedule per currency, by currency")
    _check_universe(policy.universe, frozenset(known))


def _defaults(policy: Policy, stated: tuple[str, ...]) -> Limits:
    """The limits of a file that states none, but for what follows from another limit that is stated."""
    asks = policy.limits.approval_above is not None and "untrusted" not in stated
    return Limits(untrusted="approve") if asks else Limits()


def _check_limits(
    prefix: str, found: msgspec.Struct, defaults: msgspec.Struct, fields: dict[str, Field], stated: tuple[str, ...]
) -> None:
    """Stated limits are within range, the others at their defaults."""
    for key, field in fields.items():
        value = getattr(found, key)
        if prefix + key in stated:
            _check(field, f"{prefix}{key}", value)
        elif value != getattr(defaults, key):
            raise PolicyError(WHERE, f"{prefix}{key}", _raw(value), "is not among the stated limits, so it is at its default")


def _check(field: Field, key: str, value: object) -> None:
    """A value is one that a file could state."""
    try:
        fits = field.read(_raw(value)) == value
    except ValueError as error:
        raise PolicyError(WHERE, key, _raw(value), f"{field.accepted} ({error})") from error
    if not fits:
        raise PolicyError(WHERE, key, _raw(value), field.accepted)


def _raw(value: object) -> object:
    """A value as a file has it."""
    if isinstance(value, Exact):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _check_universe(universe: tuple[Instrument, ...], known: frozenset[Instrument]) -> None:
    """Instruments by key, each once, spelled as in a universe file unless they are known."""
    keys = [row.key for row in universe]
    if not keys or len(keys) > MAX_INSTRUMENTS or keys != sorted(set(keys)):
        raise PolicyError(WHERE, "universe", None, f"has 1 to {MAX_INSTRUMENTS} instruments by key, each once")
    for row in universe:
        fault = None if row in known else fault_of(row) or _too_long(row)
        if fault is not None:
            raise PolicyError(WHERE, "universe", None, fault)


def _too_long(row: Instrument) -> str | None:
    """Says so if a name is longer than a universe file's would be."""
    longest = max(len(row.name), len(row.source))
    return f"{row.key}: name and source have at most {MAX_TEXT_CHARS} characters" if longest > MAX_TEXT_CHARS else None
