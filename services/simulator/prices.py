"""Daily price files: one CSV, `date,symbol,open,high,low,close,volume`, one row per session and symbol.

An empty field is "not available", never zero. Numbers are kept as canonical text and become `Decimal` when asked for, which
keeps loading fast. A bar without a close is no bar: nothing is quoted, filled or remembered from it.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

from services.simulator.jumps import Jump, find_jumps
from services.simulator.price_errors import PriceFileError
from services.simulator.price_rows import Fields, Rows, line_numbers, read_rows
from shared.protocol.files import FileRefused, read_regular

__all__ = ["Bar", "Fields", "Jump", "PriceFile", "PriceFileError", "load_prices"]

MAX_FILE_BYTES: Final = 256 * 1024 * 1024
MAX_NAMED: Final = 50


class Bar(NamedTuple):
    """One session of one symbol; prices in the file's currency, `volume` in shares. Absent is None."""

    open: Decimal | None
    high: Decimal | None
    low: Decimal | None
    close: Decimal
    volume: Decimal | None


@dataclass(frozen=True, slots=True)
class PriceFile:
    """A loaded price file: immutable, and the same for every process that reads the same bytes.

    `sessions` ascend and are indexed from 0 everywhere; `symbols` are sorted by code point. `warnings` are sentences for a
    person, `jumps` those among them that look like splits. `columns` hold one entry per session.
    """

    path: Path
    sha256: str
    sessions: tuple[date, ...]
    symbols: tuple[str, ...]
    warnings: tuple[str, ...]
    jumps: tuple[Jump, ...]
    columns: Mapping[str, Sequence[Fields | None]]

    def index(self, day: date) -> int | None:
        """The index of the session on `day`, None if the file has none."""
        at = bisect_left(self.sessions, day)
        return at if at < len(self.sessions) and self.sessions[at] == day else None

    def fields(self, symbol: str, index: int) -> Fields | None:
        """Canonical texts of a bar, None where there is none; any index and symbol may be asked for."""
        column = self.columns.get(symbol)
        if column is None or not 0 <= index < len(column):
            return None
        found = column[index]
        return found if found is not None and found.close is not None else None

    def bar(self, symbol: str, index: int) -> Bar | None:
        """The bar of `symbol` in session `index`, None where there is none."""
        found = self.fields(symbol, index)
        if found is None or found.close is None:
            return None
        return Bar(_number(found.open), _number(found.high), _number(found.low), Decimal(found.close), _number(found.volume))

    def close(self, symbol: str, index: int) -> Decimal | None:
        """The close of `symbol` in session `index`, None where there is none."""
        found = self.fields(symbol, index)
        return None if found is None or found.close is None else Decimal(found.close)


def _number(text: str | None) -> Decimal | None:
    """The number behind a canonical text."""
    return None if text is None else Decimal(text)


def load_prices(path: Path, is_session: Callable[[date], bool] | None = None) -> PriceFile:
    """Load and check a price file. Rows on days for which `is_session` (default: XNYS) is false are dropped with a warning.

    Byte order mark, CRLF, blank lines at the end and a missing final newline are accepted. Raises `PriceFileError`.
    """
    data = _read(path)
    text = _text(path.name, data)
    rows = read_rows(path.name, text, is_session or _xnys())
    columns = {symbol: rows.columns[symbol] for symbol in sorted(rows.columns)}
    jumps = tuple(jump for symbol, column in columns.items() for jump in find_jumps(symbol, rows.sessions, column))
    return PriceFile(
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        sessions=tuple(rows.sessions),
        symbols=tuple(columns),
        warnings=(*_dropped(rows), *_gaps(rows.sessions, columns), *_bare(text, rows.sessions, columns), *_first(jumps)),
        jumps=jumps,
        columns=columns,
    )


def _xnys() -> Callable[[date], bool]:
    """The shared calendar's own predicate."""
    from shared.protocol.calendar import calendar

    return calendar("XNYS").is_session


def _read(path: Path) -> bytes:
    """The bytes of a regular file; raises `PriceFileError`. Nothing else is opened: a pipe would wait, a device never end."""
    try:
        return read_regular(path, MAX_FILE_BYTES, "a CSV file")
    except FileRefused as error:
        raise PriceFileError(str(path), None, None, str(error)) from error


def _text(file: str, data: bytes) -> str:
    """The file's text without its byte order mark; raises `PriceFileError`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = data[error.start : error.start + 1].hex()
        raise PriceFileError(file, line, None, f"byte 0x{found} is not UTF-8: save the file as CSV in UTF-8") from error


def _dropped(rows: Rows) -> list[str]:
    """One warning that names the days that are no sessions."""
    if not rows.dropped:
        return []
    named = [f"{day} ({count} rows)" if count > 1 else f"{day} (1 row)" for day, count in rows.dropped.items()]
    return [f"dropped rows on days that are no sessions: {_list(named)}"]


def _gaps(sessions: Sequence[date], columns: Mapping[str, Sequence[Fields | None]]) -> list[str]:
    """One warning per symbol that has no close on sessions between its first and its last."""
    warnings = []
    for symbol, column in columns.items():
        known = [index for index, fields in enumerate(column) if fields is not None and fields.close is not None]
        if not known:
            warnings.append(f"{symbol} has no close at all")
        elif len(known) <= known[-1] - known[0]:
            missing = sorted(set(range(known[0], known[-1])).difference(known))
            days = _list([str(sessions[index]) for index in missing])
            warnings.append(f"{symbol} has no close on {days}: unknown on those days")
    return warnings[:MAX_NAMED]


def _bare(text: str, sessions: Sequence[date], columns: Mapping[str, Sequence[Fields | None]]) -> list[str]:
    """One warning per symbol with bars that lack open, high or low among whole ones: how many, and the line of the first."""
    found: dict[str, list[int]] = {}
    for symbol, column in columns.items():
        closes = [index for index, fields in enumerate(column) if fields is not None and fields.close is not None]
        bare = [index for index in closes if not _is_whole(column[index])]
        if 0 < len(bare) < len(closes):
            found[symbol] = bare
    named = dict(list(found.items())[:MAX_NAMED])
    lines = line_numbers(text, {(sessions[bare[0]].isoformat(), symbol) for symbol, bare in named.items()}) if named else {}
    return [
        f"{symbol} has {len(bare)} of its rows without open, high or low, the first on line "
        f"{lines[(sessions[bare[0]].isoformat(), symbol)]}: on those days it trades by closes alone"
        for symbol, bare in named.items()
    ]


def _is_whole(fields: Fields | None) -> bool:
    """Whether a bar has open, high and low."""
    return fields is not None and None not in fields[:3]


def _first(jumps: Sequence[Jump]) -> list[str]:
    """The jumps as sentences, the first ones and how many more."""
    more = [f"and {len(jumps) - MAX_NAMED} more jumps that look like splits"] if len(jumps) > MAX_NAMED else []
    return [jump.text for jump in jumps[:MAX_NAMED]] + more


def _list(names: Sequence[str]) -> str:
    """Names in one line, at most `MAX_NAMED` of them."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
