"""Options and arguments that operator commands share, and how one is carried out. Heavy imports stand inside the functions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from services.desk.errors import UsageError
from services.desk.layout import DEFAULT_DIR, Layout
from services.desk.options import policy_path

if TYPE_CHECKING:
    from services.desk.operations.base import Operation

ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stands in the log for ever.")]
RequestOption = Annotated[
    str | None, typer.Option("--request", metavar="ID", help="Repeat a request with its id: it is one event.")
]
BookOption = Annotated[str | None, typer.Option("--book", metavar="BOOK", help="One book only.")]
AllOption = Annotated[bool, typer.Option("--all", help="The whole desk, as without --book.")]
BookArgument = Annotated[str, typer.Argument(metavar="BOOK", help="The book's name.")]
OrderArgument = Annotated[str, typer.Argument(metavar="ORDER", help="The order's id.")]
AmountArgument = Annotated[str, typer.Argument(metavar="AMOUNT", help="How much, in the desk's base currency.")]
FileArgument = Annotated[Path, typer.Argument(parser=policy_path, metavar="FILE", help="A policy file.")]
DEFAULT: Final = Path(DEFAULT_DIR)


def scope_of(book: str | None, everything: bool) -> str | None:
    """One book, or None for the whole desk; raises `UsageError` for both."""
    if book is not None and everything:
        raise UsageError("--book and --all exclude each other")
    return book


def id_of(request: str | None) -> str:
    """The caller's request id, or a new one."""
    from services.desk.operate import request_id

    return request_id(request)


def do(command: "Operation", directory: Path, as_json: bool) -> None:
    """Carry it out in a running desk or under its lock; raises `DeskError`."""
    from services.desk.operate import operate

    operate(Layout(directory), command, as_json=as_json)
