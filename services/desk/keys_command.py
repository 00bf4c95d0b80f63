"""`propdesk keys`: make, show and rotate the keys of a data directory."""

import json
from collections.abc import Iterable
from typing import Final

from services.desk.arguments import DEFAULT_SOURCES
from services.desk.console import show as print_line
from services.desk.desk_keys import DeskKeys, books_with_keys
from services.desk.errors import UsageError
from services.desk.folded import folded
from services.desk.layout import Layout, writing
from services.desk.operate import operate, request_id
from services.desk.operations.keys import Rotate
from services.desk.run import check_foreign
from shared.bus.keys import PROVISIONER, ROOT
from shared.bus.logs import configure_logs
from shared.protocol.ids import BOOK_NAME

DEFAULT_BOOKS: Final = DEFAULT_SOURCES


def init(layout: Layout, books: Iterable[str], *, as_json: bool) -> None:
    """Make the keys that are missing and print the public ones; raises `UsageError`."""
    check_foreign(layout)
    with writing(layout.root):
        layout.root.mkdir(parents=True, exist_ok=True)
    names = list(books)
    wrong = [name for name in names if not BOOK_NAME.fullmatch(name)]
    if wrong:
        raise UsageError(f"--book {wrong[0]}: a book's name is a lower-case letter, then at most 11 letters, digits or _")
    keys = DeskKeys.prepare(layout, names)
    _print({**keys.users(), ROOT: keys.root}, as_json=as_json)
    if not as_json:
        print_line(f"secret keys are in {layout.keys}: keep a copy of root.nk elsewhere, it signs every change of a key")


def show(layout: Layout, *, as_json: bool) -> None:
    """Print the public keys in force, or without a log those of the key files; raises `DeskError`."""
    configure_logs("desk", "critical")
    if not layout.has_log:
        if not layout.keys.is_dir():
            raise UsageError(f"there are no keys in {layout.root}: `propdesk keys init` makes them")
        keys = DeskKeys.prepare(layout, books_with_keys(layout))
        _print({**keys.users(), ROOT: keys.root}, as_json=as_json)
        return
    state = folded(layout)
    if state.keys is None:
        raise UsageError(f"no keys are in force in {layout.root} yet: start a run first")
    _print({**state.keys.keys, ROOT: state.keys.root}, as_json=as_json)
    if not as_json:
        print_line(f"in force since sequence {state.keys_seq}: {state.keys.reason}")


def rotate(layout: Layout, who: str, reason: str, request: str | None, *, as_json: bool) -> None:
    """Put a new key of an author or a book's source in force and say where that stands; raises `DeskError`."""
    operate(layout, Rotate(who=who, reason=reason, request=request_id(request)), as_json=as_json)


def _print(public: dict[str, str], *, as_json: bool) -> None:
    """Names and public keys."""
    public = {name: key for name, key in public.items() if name != PROVISIONER}
    if as_json:
        print_line(json.dumps({"keys": public}))
        return
    width = max(map(len, public))
    for name, key in public.items():
        print_line(f"{name:<{width}}  {key}")
