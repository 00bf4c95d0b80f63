"""`propdesk.toml` beside the data directory, as far as the desk reads one: the root key to trust."""

import tomllib
from pathlib import Path
from typing import Final

from services.desk.errors import UsageError
from services.desk.layout import Layout
from shared.bus.keys import is_root_key
from shared.protocol.files import FileRefused, read_regular

NAME: Final = "propdesk.toml"
MAX_BYTES: Final = 1024 * 1024
TABLE: Final = "desk"
ROOT_KEY: Final = "root_key"


def config_of(layout: Layout) -> Path:
    """Where the configuration of a data directory is."""
    return layout.root.absolute().parent / NAME


def pinned_root(path: Path) -> str | None:
    """`[desk] root_key` of a configuration file, None without file or key; raises `UsageError` for anything else in it."""
    try:
        if not path.exists():
            return None
        found = tomllib.loads(read_regular(path, MAX_BYTES, "a TOML file").decode("utf-8"))
    except FileRefused as error:
        raise UsageError(f"{path}: {error}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    desk = found.get(TABLE, {})
    unknown = sorted({*found} - {TABLE} | ({f"{TABLE}.{name}" for name in desk if name != ROOT_KEY} if _is(desk) else set()))
    if unknown or not _is(desk):
        raise UsageError(f"{path}: {', '.join(unknown) or TABLE} is not known; accepted is [desk] root_key")
    return _root(path, desk[ROOT_KEY]) if ROOT_KEY in desk else None


def _is(table: object) -> bool:
    return isinstance(table, dict)


def _root(path: Path, value: object) -> str:
    """A root key's public text."""
    if isinstance(value, str) and is_root_key(value):
        return value
    raise UsageError(f"{path}: desk.root_key is no public root key: it is the text in keys/root.pub, which begins with O")
