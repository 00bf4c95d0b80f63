"""Which file the policy of a directory comes from, and whether it says what is in force: a file does nothing by itself."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from services.desk.layout import Layout
from services.gate.policy import PolicyError, load_policy
from shared.protocol.events import PolicyAdopted

NAME: Final = "policy-file.json"
MAX_BYTES: Final = 16 * 1024


class PolicyFile(msgspec.Struct, frozen=True):
    """A policy file beside the policy in force: `policy_hash` is None and `problem` says why if it does not load."""

    file: str
    policy_hash: str | None
    differs: bool
    problem: str | None = None


def remember(layout: Layout, file: Path) -> None:
    """Note from which file a run takes its policy; it is only shown, so that it is no matter if it cannot be written."""
    with suppress(OSError):
        (layout.root / NAME).write_text(json.dumps({"file": str(file.absolute())}), "utf-8")


def remembered(layout: Layout) -> Path | None:
    """The file of the newest run, None if that is not known."""
    try:
        with (layout.root / NAME).open("rb") as note:
            found = json.loads(note.read(MAX_BYTES))
    except (OSError, ValueError):
        return None
    path = found.get("file") if isinstance(found, dict) else None
    return Path(path) if isinstance(path, str) and path else None


def compared(file: Path, adopted: PolicyAdopted) -> PolicyFile:
    """A file beside the policy in force; where it names no universe, that in force stays."""
    try:
        loaded = load_policy(file, default_universe=adopted.policy.universe, book_currency=adopted.policy.base_currency)
    except PolicyError as error:
        return PolicyFile(str(file), None, differs=True, problem=str(error))
    differs = loaded.policy_hash != adopted.policy_hash or loaded.policy != adopted.policy
    return PolicyFile(str(file), loaded.policy_hash, differs)


def advice(found: PolicyFile, where: str = "") -> str | None:
    """What a person should know of the file, None if it says what is in force."""
    if found.problem is not None:
        return f"policy file: {found.problem}; it does nothing, the policy in force goes on"
    if not found.differs:
        return None
    return (
        f"policy file: {found.file} differs from the policy in force and does nothing: "
        f"`propdesk policy diff {found.file}{where}` says how, `propdesk policy adopt {found.file} --reason …{where}` adopts it"
    )
