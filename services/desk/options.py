"""Values of command-line options that hold for several commands, and what a wrong one is called in plain words."""

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from services.desk.errors import UsageError

_PLAIN: Final = (
    (re.compile(r"Input should be a valid integer.*"), "a whole number is needed"),
    (re.compile(r"Input should be greater than or equal to (-?\d+)"), r"at least \1 is needed"),
    (re.compile(r"Input should be less than or equal to (-?\d+)"), r"at most \1 is possible"),
)
"""How the option parser's library words the errors that our options can have, and how we do."""


def plain_words(message: str) -> str:
    """A message of the option parser without its library's jargon."""
    for pattern, words in _PLAIN:
        message = pattern.sub(words, message)
    return message


def directory_path(text: str) -> Path:
    """The value of `--dir`; raises `UsageError`."""
    return _path("--dir", text)


def data_path(text: str) -> Path:
    """The value of `--data`; raises `UsageError`."""
    return _path("--data", text)


def policy_path(text: str) -> Path:
    """The value of `--policy`; raises `UsageError`."""
    return _path("--policy", text)


def scenario_path(text: str) -> Path:
    """The value of `--scenario`; raises `UsageError`."""
    return _path("--scenario", text)


def state_path(text: str) -> Path:
    """The value of `--state`; raises `UsageError`."""
    return _path("--state", text)


def orders_path(text: str) -> Path:
    """The value of `--orders`; raises `UsageError`."""
    return _path("--orders", text)


def _path(option: str, text: str) -> Path:
    """A path that can be used and named in texts and events; raises `UsageError` for an empty one and one that is no UTF-8."""
    if not str(text).strip():
        raise UsageError(f"{option} is empty: name a path")
    path = Path(text)
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError as error:
        shown = str(path.absolute()).encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"{option} {shown}: the name is no UTF-8: use another one") from error
    return path


DirOption = Annotated[
    Path, typer.Option("--dir", envvar="PROPDESK_DIR", parser=directory_path, metavar="PATH", help="The data directory.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
