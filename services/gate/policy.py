"""The policy from its file: read, checked, resolved, and hashed over what it states."""

import tomllib
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from services.gate.policy_fields import ACCOUNT_FIELDS, COMMISSION_FIELDS, CURRENCY, LIMIT_FIELDS, Field, TomlFloat
from services.gate.universe import UniverseError, read_universe
from shared.protocol.envelope import canonical, sha256_hex
from shared.protocol.files import FileRefused, read_regular
from shared.protocol.market import Instrument
from shared.protocol.policy import AccountLimits, Commission, Limits, Policy

MAX_POLICY_BYTES: Final = 1_000_000
MAX_SHOWN_CHARS: Final = 60

_SECTIONS: Final = ("base_currency", "limits", "account", "universe", "commission")
_ACCOUNT_PREFIX: Final = "account."


class PolicyError(ValueError):
    """A policy that does not load: file, key, value found and what is accepted."""

    def __init__(self, file: Path | str, key: str | None, found: object, accepted: str) -> None:
        """Say where the fault is and what would be right; no key where it is the file itself."""
        value = "" if found is None else f" = {shown(found)}"
        where = "" if key is None else f"{key}{value}: "
        super().__init__(f"{file}: {where}{accepted}")
        self.key = key


class LoadedPolicy(NamedTuple):
    """A policy as `PolicyAdopted` carries it.

    `stated` names the limits that the file states (`account.` in front of the account's), `policy_hash` covers what is stated.
    """

    policy: Policy
    stated: tuple[str, ...]
    policy_hash: str
    warnings: tuple[str, ...]


def load_policy(
    path: Path, *, default_universe: tuple[Instrument, ...] | None = None, book_currency: str | None = None
) -> LoadedPolicy:
    """Load the `[policy]` part of a TOML file; other sections of it are not looked at.

    `default_universe` stands in for a missing `[policy.universe]`. Raises `PolicyError` for everything that section 1 of the
    gate's specification refuses, also for a base currency other than `book_currency`, if that is given.
    """
    section = _policy_section(path)
    base = _base_currency(path, section, book_currency)
    limits = _fields(path, section, "limits", LIMIT_FIELDS)
    account = _fields(path, section, "account", ACCOUNT_FIELDS)
    resolved = replace(Limits(), **limits)
    if "untrusted" not in limits and resolved.approval_above is not None:
        resolved = replace(resolved, untrusted="approve")
    policy = Policy(
        base_currency=base,
        limits=resolved,
        account=replace(AccountLimits(), **account),
        universe=_universe(path, section, default_universe),
        commission=_commission(path, section),
    )
    stated = (*sorted(limits), *(_ACCOUNT_PREFIX + key for key in sorted(account)))
    return LoadedPolicy(policy, stated, policy_hash(policy, stated), _warnings(policy))


def policy_hash(policy: Policy, stated: tuple[str, ...]) -> str:
    """SHA-256 of the canonical JSON of base currency, instruments, fees and `stated` limits; what is not stated is left out."""
    account = {key.removeprefix(_ACCOUNT_PREFIX) for key in stated if key.startswith(_ACCOUNT_PREFIX)}
    parts: dict[str, object] = {
        "base_currency": policy.base_currency,
        "limits": {key: getattr(policy.limits, key) for key in stated if not key.startswith(_ACCOUNT_PREFIX)},
        "account": {key: getattr(policy.account, key) for key in sorted(account)},
        "universe": policy.universe,
        "commission": policy.commission,
    }
    return sha256_hex(canonical({name: part for name, part in parts.items() if part}))


def shown(found: object) -> str:
    """A value of a file as its author wrote it, cut to what fits into a message."""
    text = {True: "true", False: "false"}[found] if isinstance(found, bool) else found
    quoted = f'"{text}"' if isinstance(found, str) and not isinstance(found, TomlFloat) else str(text)
    return quoted if len(quoted) <= MAX_SHOWN_CHARS else f"{quoted[:MAX_SHOWN_CHARS]}…"


def _policy_section(path: Path) -> dict[str, object]:
    """The `[policy]` table, with no key that is not known."""
    document = _document(path)
    misplaced = next((name for name in _SECTIONS if name in document), None)
    if misplaced is not None:
        raise PolicyError(path, misplaced, None, f"must stand under [policy]: write policy.{misplaced}")
    section = document.get("policy")
    if section is None:
        raise PolicyError(path, "[policy]", None, "the section is missing")
    if not isinstance(section, dict):
        raise PolicyError(path, "policy", section, "must be a section [policy]")
    _refuse_unknown(path, "policy", section, _SECTIONS)
    return section


def _document(path: Path) -> dict[str, object]:
    """The file as TOML, its numbers with a point kept as text."""
    try:
        content = read_regular(path, MAX_POLICY_BYTES, "a TOML file")
    except FileRefused as error:
        raise PolicyError(path, None, None, str(error)) from error
    try:
        return tomllib.loads(content.decode("utf-8-sig"), parse_float=TomlFloat)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise PolicyError(path, None, None, f"is not valid TOML: {error}") from error


def _base_currency(path: Path, section: dict[str, object], book_currency: str | None) -> str:
    """The stated base currency, which has no default."""
    if "base_currency" not in section:
        raise PolicyError(path, "policy.base_currency", None, f"is missing: {CURRENCY.accepted}")
    base = str(_read(path, "policy.base_currency", CURRENCY, section["base_currency"]))
    if book_currency is not None and base != book_currency:
        raise PolicyError(path, "policy.base_currency", base, f"must be the currency of the book, {book_currency}")
    return base


def _fields(path: Path, section: dict[str, object], name: str, fields: dict[str, Field]) -> dict[str, object]:
    """The stated values of one sub-section."""
    table = section.get(name, {})
    if not isinstance(table, dict):
        raise PolicyError(path, f"policy.{name}", table, f"must be a section [policy.{name}]")
    _refuse_unknown(path, f"policy.{name}", table, tuple(fields))
    return {key: _read(path, f"policy.{name}.{key}", fields[key], value) for key, value in table.items()}


def _read(path: Path, key: str, field: Field, value: object) -> object:
    """One value, or the error that says what is accepted."""
    try:
        return field.read(value)
    except ValueError as error:
        raise PolicyError(path, key, value, f"{field.accepted}{f' ({error})' if str(error) else ''}") from error


def _refuse_unknown(path: Path, where: str, table: dict[str, object], known: tuple[str, ...]) -> None:
    """No key that nothing reads."""
    for key, value in table.items():
        if key not in known:
            raise PolicyError(path, f"{where}.{key}", value, f"unknown key; accepted: {', '.join(known)}")


def _commission(path: Path, section: dict[str, object]) -> tuple[Commission, ...]:
    """The fee schedules, by currency."""
    tables = section.get("commission", [])
    if not isinstance(tables, list):
        raise PolicyError(path, "policy.commission", tables, "must be tables [[policy.commission]]")
    rows = tuple(_schedule(path, f"policy.commission[{index}]", table) for index, table in enumerate(tables))
    for index, row in enumerate(rows):
        if any(other.currency == row.currency for other in rows[:index]):
            raise PolicyError(
                path, f"policy.commission[{index}].currency", row.currency, "has a schedule already: one per currency"
            )
    return tuple(sorted(rows, key=lambda row: row.currency))


def _schedule(path: Path, where: str, table: object) -> Commission:
    """One fee schedule; all four keys are needed."""
    if not isinstance(table, dict):
        raise PolicyError(path, where, table, "must be a table [[policy.commission]]")
    _refuse_unknown(path, where, table, tuple(COMMISSION_FIELDS))
    for key, field in COMMISSION_FIELDS.items():
        if key not in table:
            raise PolicyError(path, f"{where}.{key}", None, f"is missing: {field.accepted}")
    values = {key: _read(path, f"{where}.{key}", COMMISSION_FIELDS[key], value) for key, value in table.items()}
    return msgspec.convert(values, Commission)


def _universe(path: Path, section: dict[str, object], default: tuple[Instrument, ...] | None) -> tuple[Instrument, ...]:
    """The instruments of all universe files, by key; relative paths are relative to the policy's file."""
    table = section.get("universe")
    if table is None:
        if default is None:
            raise PolicyError(path, "policy.universe", None, 'is missing: files = ["…csv"]')
        return tuple(sorted(default, key=lambda row: row.key))
    if not isinstance(table, dict):
        raise PolicyError(path, "policy.universe", table, "must be a section [policy.universe]")
    _refuse_unknown(path, "policy.universe", table, ("files",))
    names = table.get("files")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise PolicyError(path, "policy.universe.files", names, "must be a list of one or more file names")
    try:
        return read_universe(tuple(path.parent / name for name in names))
    except UniverseError as error:
        raise PolicyError(path, "policy.universe.files", None, str(error)) from error


def _warnings(policy: Policy) -> tuple[str, ...]:
    """What loads but will block orders."""
    currencies = sorted({row.currency for row in policy.universe})
    told = "has no [[policy.commission]]: every order in it will be blocked by the rule commission"
    return tuple(f"{currency} {told}" for currency in currencies if policy.schedule(currency) is None)
