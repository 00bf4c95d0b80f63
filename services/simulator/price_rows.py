"""From the text of a price file to checked columns of canonical number texts."""

import csv
import io
import re
from collections.abc import Callable, Set
from datetime import date
from typing import Final, NamedTuple

from services.simulator.price_errors import PriceFileError, shown
from services.simulator.price_numbers import check_order, price, volume
from services.simulator.price_symbols import fault, one_spelling

HEADER: Final = ["date", "symbol", "open", "high", "low", "close", "volume"]
VOLUME: Final = HEADER.index("volume")
SEMICOLONS: Final = "separate with commas, not semicolons"
TOO_FEW: Final = "write every field, an unknown one as nothing between two commas"
TOO_MANY: Final = "write numbers with a point and no thousands separators"
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class Fields(NamedTuple):
    """Canonical texts of one row's numbers, None where the field is empty."""

    open: str | None
    high: str | None
    low: str | None
    close: str | None
    volume: str | None


class Rows:
    """Rows gathered one by one: `columns` by symbol (one entry per session), `dropped` counts of days that are no sessions."""

    def __init__(self, file: str, is_session: Callable[[date], bool]) -> None:
        """Start empty; `file` is the name for messages."""
        self.file, self._is_session = file, is_session
        self.sessions: list[date] = []
        self.columns: dict[str, list[Fields | None]] = {}
        self.dropped: dict[date, int] = {}
        self._spellings: dict[str, str] = {}
        self._day_text: str | None = None
        self._day = date.min
        self._dropping = False
        self._blank_line: int | None = None

    def add(self, line: int, row: list[str]) -> None:
        """Check and keep one row; raises `PriceFileError`."""
        if not any(row) or len(row) != len(HEADER) or self._blank_line is not None:
            return self._odd_row(line, row)
        if row[0] != self._day_text:
            self._next_day(line, row[0])
        column = self.columns.get(row[1])
        if column is None:
            column = self._new_column(line, row[1])
        fields = self._fields(line, row)
        if self._dropping:
            self.dropped[self._day] += 1
            return None
        gap = len(self.sessions) - 1 - len(column)
        if gap < 0:
            raise self._error(line, "symbol", f"a second row for {shown(row[1])} on {self._day}: remove one of them")
        if gap:
            column.extend([None] * gap)
        column.append(fields)
        return None

    def end(self) -> None:
        """Check the whole and make all columns equally long; raises `PriceFileError`."""
        if not self.sessions:
            what = "only days that are no sessions" if self.dropped else "a header but no rows"
            raise PriceFileError(self.file, None, None, f"{what}: there must be at least one session with prices")
        self.columns = {symbol: column for symbol, column in self.columns.items() if column}
        for column in self.columns.values():
            column.extend([None] * (len(self.sessions) - len(column)))

    def _odd_row(self, line: int, row: list[str]) -> None:
        """Remember a blank line, refuse a row of the wrong length or one that follows a blank line."""
        if not any(field.strip() for field in row):
            self._blank_line = self._blank_line or line
            return
        if self._blank_line is not None:
            raise self._error(self._blank_line, None, "a blank line between rows: remove it")
        hint = SEMICOLONS if ";" in row[0] else TOO_FEW if len(row) < len(HEADER) else TOO_MANY
        found = shown(",".join(row))
        raise self._error(line, None, f"{len(row)} fields instead of {len(HEADER)}, found {found}: {hint}")

    def _next_day(self, line: int, text: str) -> None:
        """Begin the day `text`, which must be later than the one before."""
        day = self._parse_day(line, text)
        if day <= self._day:
            raise self._error(line, "date", f"found {text} after {self._day}: sort the rows by date, then symbol")
        try:
            self._dropping = not self._is_session(day)
        except LookupError as error:
            raise self._error(line, "date", f"{error}: leave out the rows outside it") from error
        self._day, self._day_text = day, text
        if self._dropping:
            self.dropped[day] = 0
        else:
            self.sessions.append(day)

    def _parse_day(self, line: int, text: str) -> date:
        """A real date from `YYYY-MM-DD`."""
        try:
            if _DAY.fullmatch(text):
                return date.fromisoformat(text)
            what = "dates are plain YYYY-MM-DD, without time, zone or blanks"
        except ValueError:
            what = "there is no such day"
        raise self._error(line, "date", f"found {shown(text)}: {what}")

    def _new_column(self, line: int, symbol: str) -> list[Fields | None]:
        """The column of a symbol that is seen for the first time."""
        if wrong := fault(symbol):
            raise self._error(line, "symbol", f"found {shown(symbol)}: {wrong}")
        other = self._spellings.setdefault(one_spelling(symbol), symbol)
        if other != symbol:
            raise self._error(line, "symbol", f"found {shown(symbol)} beside {shown(other)}: write one name in one way")
        return self.columns.setdefault(symbol, [])

    def _fields(self, line: int, row: list[str]) -> Fields | None:
        """The row's numbers, None where there is not one; closes alone take the short way."""
        if row[5] and not (row[2] or row[3] or row[4] or row[6]):
            return Fields(None, None, None, self._number(line, row, 5), None)
        open_, high, low, close, shares = (self._number(line, row, place) if row[place] else None for place in range(2, 7))
        if contradiction := check_order(open_, high, low, close):
            raise self._error(line, *contradiction)
        found = Fields(open_, high, low, close, shares)
        return found if any(found) else None

    def _number(self, line: int, row: list[str], place: int) -> str:
        """The canonical text of one field."""
        try:
            return volume(row[place]) if place == VOLUME else price(row[place])
        except ValueError as error:
            raise self._error(line, HEADER[place], str(error)) from error

    def _error(self, line: int, column: str | None, message: str) -> PriceFileError:
        """An error at a place of this file."""
        return PriceFileError(self.file, line, column, message)


def read_rows(file: str, text: str, is_session: Callable[[date], bool]) -> Rows:
    """Read all rows of a file's text; raises `PriceFileError`."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = Rows(file, is_session)
    try:
        _check_header(file, next(reader, []))
        for row in reader:
            rows.add(reader.line_num, row)
    except csv.Error as error:
        raise PriceFileError(file, reader.line_num, None, f"no CSV ({error}): save the file again as CSV") from error
    rows.end()
    return rows


def _check_header(file: str, row: list[str]) -> None:
    """Refuse any header but ours."""
    wanted = f"the header must be {','.join(HEADER)}"
    if not any(field.strip() for field in row):
        raise PriceFileError(file, 1, None, f"empty: {wanted}")
    if len(row) == 1 and ";" in row[0]:
        raise PriceFileError(file, 1, None, f"found {shown(row[0])}: {SEMICOLONS}; {wanted}")
    for column in HEADER:
        if column not in row:
            raise PriceFileError(file, 1, column, f"missing, found {shown(','.join(row))}: {wanted}")
    if row != HEADER:
        place = next(place for place, column in enumerate(row) if HEADER[place : place + 1] != [column])
        raise PriceFileError(file, 1, str(place + 1), f"found {shown(row[place])}: {wanted}, in this order")


def line_numbers(text: str, wanted: Set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The lines (from 1) of rows by date and symbol as they are spelled in a text that `read_rows` has accepted."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    return {(row[0], row[1]): reader.line_num for row in reader if len(row) > 1 and (row[0], row[1]) in wanted}
