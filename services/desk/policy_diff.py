"""Two policies key by key. Pure."""

from collections.abc import Iterable, Iterator

import msgspec

from services.gate.policy import LoadedPolicy
from shared.protocol.events import PolicyAdopted
from shared.protocol.market import Instrument
from shared.protocol.policy import Commission, Policy

OFF = "off"
NOT_THERE = "none"


class Change(msgspec.Struct, frozen=True):
    """One key that differs; `default` marks a value that the file does not state."""

    key: str
    old: str
    new: str


def changes(old: PolicyAdopted, new: LoadedPolicy) -> tuple[Change, ...]:
    """Every key whose value differs, or that only one of the two states, from the policy in force to a file's."""
    found = (
        *_values("base_currency", (old.policy.base_currency,), (new.policy.base_currency,)),
        *_fields("limits", old, new),
        *_fields("account", old, new),
        *_rows("universe", _by_key(old.policy), _by_key(new.policy)),
        *_rows("commission", _by_currency(old.policy), _by_currency(new.policy)),
    )
    return tuple(found)


def settings(policy: Policy, stated: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Every limit with its value, as a person reads it; what the file does not state is marked."""
    for name, key, value in _all_fields(policy):
        yield f"{name}.{key}", _said(value, _stated_name(name, key) in set(stated))


def _fields(name: str, old: PolicyAdopted, new: LoadedPolicy) -> Iterator[Change]:
    """The limits of one section."""
    before = {key: value for section, key, value in _all_fields(old.policy) if section == name}
    after = {key: value for section, key, value in _all_fields(new.policy) if section == name}
    for key, value in before.items():
        was, now = _stated_name(name, key) in old.stated, _stated_name(name, key) in new.stated
        if value != after[key] or was != now:
            yield Change(f"{name}.{key}", _said(value, was), _said(after[key], now))


def _all_fields(policy: Policy) -> Iterator[tuple[str, str, object]]:
    """Section, key and value of every limit."""
    for name, section in (("limits", policy.limits), ("account", policy.account)):
        for key in section.__struct_fields__:
            yield name, key, getattr(section, key)


def _stated_name(section: str, key: str) -> str:
    """How `stated` names a limit."""
    return key if section == "limits" else f"{section}.{key}"


def _said(value: object, stated: bool) -> str:
    """A value for a person."""
    match value:
        case None:
            text = OFF
        case bool():
            text = "true" if value else "false"
        case tuple():
            text = ", ".join(map(str, value))
        case _:
            text = str(value)
    return text if stated else f"{text} (default)"


def _values(key: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Change]:
    if old != new:
        yield Change(key, ", ".join(old), ", ".join(new))


def _by_key(policy: Policy) -> dict[str, str]:
    """The universe as text by instrument."""
    return {row.key: _instrument(row) for row in policy.universe}


def _instrument(row: Instrument) -> str:
    return f"on {row.exchange}"


def _by_currency(policy: Policy) -> dict[str, str]:
    """The fee schedules as text by currency."""
    return {row.currency: _schedule(row) for row in policy.commission}


def _schedule(row: Commission) -> str:
    return f"{row.per_share} a share, at least {row.minimum}, at most {row.maximum_pct} %"


def _rows(name: str, old: dict[str, str], new: dict[str, str]) -> Iterator[Change]:
    """Rows that are new, gone or different."""
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            yield Change(f"{name}.{key}", old.get(key, NOT_THERE), new.get(key, NOT_THERE))
