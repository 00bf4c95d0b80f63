"""The sessions of a price file with the hours of the exchange's calendar, and what a request to advance may say."""

import hashlib
from datetime import date

from services.simulator.orders import Advance, Session, Step
from services.simulator.prices import PriceFile
from shared.protocol.calendar import Calendar
from shared.protocol.instants import parse_day, to_text


def session(file: PriceFile, calendar: Calendar, index: int) -> Session:
    """Session `index` of the file with its hours."""
    day = file.sessions[index]
    hours = calendar.hours(day)
    return Session(index, day.isoformat(), to_text(hours.opens_at), to_text(hours.closes_at))


def advance(file: PriceFile, calendar: Calendar, *, to: str, step: Step, day: str) -> Advance:
    """The command for a request; raises `ValueError` that says why `to`, `step` and `day` do not fit together."""
    index = _index(file, parse_day(day))
    found = session(file, calendar, index)
    if to < found.opens_at:
        raise ValueError(f"{to} is before the session {day} opens at {found.opens_at}: advance to a time in or after it")
    if step in {"open", "slot"} and to >= found.closes_at:
        raise ValueError(f"{to} is not before the session {day} closes at {found.closes_at}: the step {step} lies inside it")
    if step == "close" and to < found.closes_at:
        raise ValueError(f"{to} is before the session {day} closes at {found.closes_at}: the step close lies at or after that")
    if index + 1 < len(file.sessions) and to >= (later := session(file, calendar, index + 1)).opens_at:
        raise ValueError(f"{to} belongs to a later session than {day}: {later.day} opens at {later.opens_at}")
    return Advance(to, step, found)


def _index(file: PriceFile, day: date) -> int:
    """The index of a session; raises `ValueError` naming the span."""
    index = file.index(day)
    if index is None:
        raise ValueError(f"{day} is no session of {file.path.name}, which has {file.sessions[0]} to {file.sessions[-1]}")
    return index


def sessions_sha256(file: PriceFile) -> str:
    """Hash of the file's session days: the same file under another calendar may have others."""
    return hashlib.sha256("\n".join(day.isoformat() for day in file.sessions).encode()).hexdigest()
