"""Ids and subjects: derived from what they name, never drawn."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

BOOK_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,11}", re.ASCII)
RUN_ID: Final = re.compile(r"[0-9]{8}T[0-9]{4}-[a-z][a-z0-9_]{0,11}-(?:[1-9]|[ka][1-9])", re.ASCII)
CAUSED_LETTERS: Final = ("k", "a")
MAX_ORDERS: Final = 99
MAX_ORDER_ID_CHARS: Final = 32
DESK_BOOK: Final = "_desk"
KEPT_SUBJECTS: Final = 1024
"""Subjects whose parts are remembered: there are some dozen types for each author and book."""
STREAM: Final = "EV"
AUTHORS: Final = ("agent", "desk", "executor", "gate", "journal")


class IdError(ValueError):
    """A name or id that is not allowed, with what is."""


class Subject(NamedTuple):
    """`ev.<author>.<book>.<Type>` taken apart; `ids` is how the ids of events there begin."""

    author: str
    book: str
    type: str
    ids: str


def check_book(name: str) -> str:
    """Return `name` if it can be a book's; raises `IdError` otherwise."""
    if not BOOK_NAME.fullmatch(name):
        raise IdError(f"{name[:32]!r} is no book name: a lower-case letter, then at most 11 letters, digits or _")
    return name


def subject(author: str, book: str, event_type: str) -> str:
    """Where an event is stored."""
    return f"ev.{author}.{book}.{event_type}"


@lru_cache(maxsize=KEPT_SUBJECTS)
def parse_subject(text: str) -> Subject:
    """Take a stored event's subject apart; raises `IdError` if it is none."""
    parts = text.split(".")
    if len(parts) != 4 or parts[0] != "ev" or parts[1] not in AUTHORS or not all(parts):
        raise IdError(f"{text[:80]!r} is no subject of an event (ev.<author>.<book>.<Type>)")
    return Subject(parts[1], parts[2], parts[3], event_id(parts[1], parts[3], ""))


def prefix(author: str, book: str | None = None) -> str:
    """The filter of one writer: its author's subjects, for agents one book's."""
    return f"ev.{author}.{book}.>" if book else f"ev.{author}.>"


def event_id(author: str, event_type: str, about: str, k: int = 1) -> str:
    """`<author>:<Type>:<about>[:k]`; k counts the facts of one type and `about`."""
    name = f"{author}:{event_type}:{about}"
    return name if k == 1 else f"{name}:{k}"


def about_of(identity: str) -> str:
    """What an event id says that its event is about."""
    return identity.split(":")[2]


def run_id(day: str, local_time: str, book: str, attempt: str = "1") -> str:
    """`<yyyymmdd>T<hhmm>-<book>-<attempt>` from a slot's local day (`YYYY-MM-DD`) and time (`HH:MM`)."""
    name = f"{day.replace('-', '')}T{local_time.replace(':', '')}-{book}-{attempt}"
    if not RUN_ID.fullmatch(name):
        raise IdError(f"{name[:64]!r} is no run id")
    return name


def is_caused(run: str | None) -> bool:
    """Whether a run id is one of a run that the desk itself caused (`k` liquidation, `a` approval)."""
    return run is not None and run.rpartition("-")[2][:1] in CAUSED_LETTERS


def order_id(run: str, index: int) -> str:
    """`<run>-<n>`, n being the 1-based index in the proposal; raises `IdError` beyond 99."""
    if not 1 <= index <= MAX_ORDERS:
        raise IdError(f"order {index} of {run}: a proposal has at most {MAX_ORDERS} orders")
    return f"{run}-{index}"


def run_of(order: str) -> str:
    """The run of an order id."""
    return order.rpartition("-")[0]


def index_of(order: str) -> int:
    """The index of an order id in its proposal."""
    return int(order.rpartition("-")[2])


def book_of(run: str) -> str:
    """The book of a run id; empty if it is none."""
    return run.partition("-")[2].partition("-")[0]


def execution_token(execution: str) -> str:
    """A broker's execution id as it stands in event ids: dots are `_`."""
    return execution.replace(".", "_")
