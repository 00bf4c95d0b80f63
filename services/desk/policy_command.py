"""`propdesk policy`: show the policy in force, check a file, say what it would change, and put it in force."""

from pathlib import Path
from typing import Final

import msgspec

from services.desk.console import show as print_line
from services.desk.console import show_json
from services.desk.errors import UsageError
from services.desk.folded import folded
from services.desk.layout import Layout
from services.desk.operate import operate, request_id
from services.desk.operations.policies import AdoptPolicy
from services.desk.policy_diff import Change, changes, settings
from services.desk.wording import counted
from services.gate.policy import LoadedPolicy, PolicyError, load_policy
from shared.bus.logs import configure_logs
from shared.protocol.envelope import canonical
from shared.protocol.events import PolicyAdopted

NO_UNIVERSE: Final = "it names no [policy.universe]: that of the policy in force stays, of a new run that of its prices"


def check(file: Path, *, as_json: bool) -> None:
    """Load a policy file and say what is wrong with it, if anything; raises `UsageError`."""
    loaded = _load(file, None)
    has_universe = bool(loaded.policy.universe)
    found = {
        "file": str(file),
        "policy_hash": loaded.policy_hash if has_universe else None,
        "stated": list(loaded.stated),
        "instruments": len(loaded.policy.universe),
        "warnings": [*loaded.warnings, *(() if has_universe else (NO_UNIVERSE,))],
    }
    if as_json:
        show_json(found)
        return
    print_line(
        f"{file} loads: {counted(len(loaded.stated), 'limit')} stated, {counted(len(loaded.policy.universe), 'instrument')}"
    )
    for warning in (*loaded.warnings, *(() if has_universe else (NO_UNIVERSE,))):
        print_line(f"note: {warning}")


def show(layout: Layout, *, as_json: bool) -> None:
    """Print the policy in force, and since when it is; raises `DeskError`."""
    seq, adopted = in_force(layout)
    if as_json:
        document = msgspec.json.decode(canonical(adopted))
        show_json({"seq": seq, **document})
        return
    print_line(f"policy {adopted.policy_hash}, in force since sequence {seq}: {adopted.reason}")
    print_line(f"base_currency = {adopted.policy.base_currency}")
    for key, value in settings(adopted.policy, adopted.stated):
        print_line(f"{key} = {value}")
    for row in adopted.policy.commission:
        print_line(f"commission {row.currency}: {row.per_share} a share, at least {row.minimum}, at most {row.maximum_pct} %")
    print_line(f"universe: {', '.join(row.key for row in adopted.policy.universe)}")


def diff(layout: Layout, file: Path, *, as_json: bool) -> None:
    """Print what a file would change of the policy in force, key by key; raises `DeskError`."""
    _load(file, None)
    seq, adopted = in_force(layout)
    loaded = _load(file, adopted)
    found = changes(adopted, loaded)
    if as_json:
        rows = msgspec.to_builtins(found)
        show_json({"seq": seq, "in_force": adopted.policy_hash, "file": loaded.policy_hash, "changes": rows})
        return
    for line in lines(found, file, seq):
        print_line(line)


def lines(found: tuple[Change, ...], file: Path, seq: int) -> list[str]:
    """The differences for a person."""
    if not found:
        return [f"{file} is the policy in force since sequence {seq}"]
    width = max(len(change.key) for change in found)
    return [f"{change.key:<{width}}  {change.old}  ->  {change.new}" for change in found]


def adopt(layout: Layout, file: Path, reason: str, request: str | None, *, as_json: bool) -> None:
    """Put a file's policy in force; raises `DeskError`, before anything is written for a file that does not load."""
    _load(file, None)
    _, adopted = in_force(layout)
    loaded = _load(file, adopted)
    command = AdoptPolicy(policy=loaded.policy, stated=loaded.stated, reason=reason, request=request_id(request))
    operate(layout, command, as_json=as_json)


def in_force(layout: Layout) -> tuple[int, PolicyAdopted]:
    """The policy in force and where it stands; raises `DeskError`."""
    configure_logs("desk", "critical")
    state = folded(layout)
    if state.policy is None:
        raise UsageError(f"no policy is in force in {layout.root} yet: start a run first")
    return state.policy_seq, state.policy


def _load(file: Path, adopted: PolicyAdopted | None) -> LoadedPolicy:
    """A policy from its file; where it names no universe, that of the policy in force stays. Raises `UsageError`."""
    universe = () if adopted is None else adopted.policy.universe
    currency = None if adopted is None else adopted.policy.base_currency
    try:
        return load_policy(file, default_universe=universe, book_currency=currency)
    except PolicyError as error:
        raise UsageError(str(error)) from error
