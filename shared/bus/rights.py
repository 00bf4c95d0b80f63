"""Who may publish, subscribe and call what: the one table from which the server's configuration and the docs are made.

Every author has a NATS account of its own, because inside one account a reply subject can be abused to store a forged message.
The stream stands in `LOG`, whose only user makes it; the others reach it through imports of exactly these subjects.
"""

from typing import Final, NamedTuple

from shared.protocol.ids import AUTHORS, STREAM

LOG: Final = "LOG"
AGENT: Final = "agent"
PROVISIONER: Final = "provisioner"
API: Final = "$JS.API"
FOREIGN_API: Final = f"{LOG}.API"
"""The stream's API as the other accounts see it: without another name the server does not serve all of it over an import."""
HINT: Final = "hb.log"
"""Says after each acknowledged append how long the log is: a hint to read on, never trusted."""

SERVICE_CALLS: Final = (
    f"STREAM.INFO.{STREAM}",
    f"STREAM.MSG.GET.{STREAM}",
    f"CONSUMER.CREATE.{STREAM}.*",
    f"CONSUMER.DELETE.{STREAM}.*",
    f"CONSUMER.MSG.NEXT.{STREAM}.*",
)
AGENT_CALLS: Final = (f"STREAM.INFO.{STREAM}", f"DIRECT.GET.{STREAM}")
PROVISIONER_CALLS: Final = (f"STREAM.INFO.{STREAM}", f"STREAM.CREATE.{STREAM}")
MANY_ANSWERS: Final = frozenset({f"CONSUMER.MSG.NEXT.{STREAM}.*", f"DIRECT.GET.{STREAM}"})

CALLERS: Final[dict[str, tuple[str, ...]]] = {
    **{f"rpc.{author}.health": ("desk",) for author in AUTHORS if author != "desk"},
    "rpc.gate.check": (AGENT,),
    "rpc.executor.quotes": ("gate",),
    "rpc.executor.history": (AGENT,),
    "rpc.journal.status": ("desk",),
    "rpc.desk.command": ("desk",),
}
"""Requests by subject, whose second word answers them, and who may ask."""


class Rights(NamedTuple):
    """What one user may do in its account. `answers`: it may also reply to the requests that it gets."""

    user: str
    account: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    answers: bool


def rights_of(author: str, book: str = "") -> Rights:
    """The rights of an author's user; of a source's user those of its `book` alone."""
    inbox = inbox_of(author, book)
    calls = tuple(f"{FOREIGN_API}.{call}" for call in calls_of(author))
    asked = tuple(subject for subject, callers in CALLERS.items() if author in callers)
    served = tuple(subject for subject in CALLERS if owner_of(subject) == author)
    events = f"ev.{AGENT}.{book}.>" if author == AGENT else f"ev.{author}.>"
    hints = (HINT,)
    return Rights(
        user=f"{AGENT}/{book}" if author == AGENT else author,
        account=account_of(author),
        publish=(events, *calls, *asked, f"{inbox}.>", *(() if author == AGENT else hints)),
        subscribe=(f"{inbox}.>", *served, *(hints if author == AGENT else ())),
        answers=bool(served),
    )


def provisioner_rights() -> Rights:
    """The only user of the stream's own account: it makes the stream, and can write no event."""
    inbox = inbox_of(PROVISIONER)
    calls = tuple(f"{API}.{call}" for call in PROVISIONER_CALLS)
    return Rights(PROVISIONER, LOG, (*calls, f"{inbox}.>"), (f"{inbox}.>",), answers=False)


def inbox_of(author: str, book: str = "") -> str:
    """Where a user gets its answers: nobody else may listen there."""
    return f"_INBOX_{author}_{book}" if book else f"_INBOX_{author}"


def calls_of(author: str) -> tuple[str, ...]:
    """The parts of the stream's API that an author may call."""
    return AGENT_CALLS if author == AGENT else SERVICE_CALLS


def account_of(author: str) -> str:
    """The account of an author."""
    return author.upper()


def owner_of(subject: str) -> str:
    """Who answers a request subject."""
    return subject.split(".")[1]
