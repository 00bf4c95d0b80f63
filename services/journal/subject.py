"""What can be explained: a run, an order, an execution, or any event by its id. Pure."""

import re
from enum import StrEnum
from typing import Final

import msgspec

from shared.protocol.ids import AUTHORS, RUN_ID, about_of, execution_token, run_of

FORMS: Final = (
    "a run is like 20221003T1030-momentum-1, an order like 20221003T1030-momentum-1-2, "
    "an execution is named as the broker names it, an event like gate:Verdict:20221003T1030-momentum-1"
)
MAX_NAME_CHARS: Final = 128
_ORDER_INDEX: Final = re.compile(r"[1-9][0-9]?", re.ASCII)
_EXECUTION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", re.ASCII)
_EVENT: Final = re.compile(r"[a-z]+:[A-Za-z]+:[A-Za-z0-9._+-]+(?::[1-9][0-9]*)?", re.ASCII)


class SubjectError(ValueError):
    """A text that cannot name anything in a log, with what can."""


class Kind(StrEnum):
    """What is asked about."""

    RUN = "run"
    ORDER = "order"
    EXECUTION = "execution"
    EVENT = "event"


class Subject(msgspec.Struct, frozen=True):
    """`name` as the log has it, an execution with its dots as `_`; `run` as far as the name itself says it."""

    kind: Kind
    name: str
    run: str | None = None


def read_subject(text: str) -> Subject:
    """What a text names; an event of a run, an order or an execution stands for that. Raises `SubjectError`."""
    name = text.strip()
    if len(name) > MAX_NAME_CHARS:
        raise SubjectError(f"{name[:MAX_NAME_CHARS]!a}… is too long for a name: {FORMS}")
    if _EVENT.fullmatch(name) and name.partition(":")[0] in AUTHORS:
        about = about_of(name)
        if name.split(":")[1] == "FillSettled":
            return Subject(Kind.EXECUTION, execution_token(about))
        return _run_or_order(about) or Subject(Kind.EVENT, name)
    found = _run_or_order(name)
    if found is None and _EXECUTION.fullmatch(name):
        found = Subject(Kind.EXECUTION, execution_token(name))
    if found is None:
        raise SubjectError(f"{name!a} names nothing in a log: {FORMS}")
    return found


def _run_or_order(name: str) -> Subject | None:
    """A run or an order, if the text has the form of one."""
    if RUN_ID.fullmatch(name):
        return Subject(Kind.RUN, name, name)
    run, _, index = name.rpartition("-")
    if RUN_ID.fullmatch(run) and _ORDER_INDEX.fullmatch(index):
        return Subject(Kind.ORDER, name, run_of(name))
    return None
