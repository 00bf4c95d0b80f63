"""The instruments that may be traded, from CSV files with the header `symbol,exchange,currency,name,source`."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from services.gate.policy_fields import is_currency
from shared.protocol.files import FileRefused, read_regular
from shared.protocol.market import MAX_SYMBOL_CHARS, Instrument

COLUMNS: Final = ("symbol", "exchange", "currency", "name", "source")
NEEDED: Final = ("symbol", "exchange", "currency")
MAX_FILE_BYTES: Final = 4_000_000
MAX_INSTRUMENTS: Final = 5_000
MAX_TEXT_CHARS: Final = 100

_SYMBOL: Final = re.compile(r"[A-Z0-9][A-Z0-9 .\-/_&+]{0,31}", re.ASCII)
_EXCHANGE: Final = re.compile(r"[A-Z0-9._]{1,16}", re.ASCII)
_SHARE_CLASS: Final = re.compile(r"([A-Z]{1,5})[.\-/]([A-Z])", re.ASCII)


class UniverseError(ValueError):
    """A universe file that does not load: file, line and what is wrong."""


def read_universe(paths: tuple[Path, ...]) -> tuple[Instrument, ...]:
    """The instruments of all files, by key; one that stands in several is taken once if its exchange agrees.

    Raises `UniverseError` naming file and line. Files saved by spreadsheets (byte order mark, CRLF, blank tail) load too.
    """
    found: dict[str, Instrument] = {}
    for path in paths:
        for line, row in _rows(path):
            known = found.setdefault(row.key, row)
            if known.exchange != row.exchange:
                raise UniverseError(f"{path} line {line}: {row.key} has two exchanges, {known.exchange} and {row.exchange}")
            if len(found) > MAX_INSTRUMENTS:
                raise UniverseError(f"{path} line {line}: more than {MAX_INSTRUMENTS} instruments")
    if not found:
        raise UniverseError(f"{', '.join(str(path) for path in paths)}: no instrument")
    return tuple(found[key] for key in sorted(found))


def _rows(path: Path) -> Iterator[tuple[int, Instrument]]:
    """The rows of one file with their line numbers."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    header: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = _header(path, cells)
                continue
            if len(cells) != len(header):
                raise UniverseError(f"{path} line {reader.line_num}: {len(cells)} fields, the header has {len(header)}")
            yield reader.line_num, _instrument(path, reader.line_num, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise UniverseError(f"{path} line {reader.line_num}: {error}") from error
    if header is None:
        raise UniverseError(f"{path}: empty, it needs the header {','.join(COLUMNS)}")


def _text(path: Path) -> str:
    """The file's text."""
    try:
        content = read_regular(path, MAX_FILE_BYTES, "a CSV file")
    except FileRefused as error:
        raise UniverseError(f"{path}: {error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UniverseError(f"{path}: not UTF-8: {error}") from error


def _header(path: Path, cells: list[str]) -> list[str]:
    """The columns of the file: the three needed ones, no unknown one, none twice."""
    header = [cell.strip() for cell in cells]
    unknown = [cell for cell in header if cell not in COLUMNS]
    missing = [column for column in NEEDED if column not in header]
    if unknown or missing or len(set(header)) != len(header):
        found = ",".join(header)[:MAX_TEXT_CHARS]
        raise UniverseError(f"{path} line 1: header {found!r}: it must be {','.join(COLUMNS)}")
    return header


def _instrument(path: Path, line: int, cells: dict[str, str]) -> Instrument:
    """One row; symbols are text, whatever they look like."""
    texts = {column: unicodedata.normalize("NFC", cell.strip()) for column, cell in cells.items()}
    for column in NEEDED:
        if not texts[column]:
            raise UniverseError(f"{path} line {line}: no {column}")
    name, source = (texts.get(column, "")[:MAX_TEXT_CHARS] for column in ("name", "source"))
    row = Instrument(texts["symbol"], texts["exchange"].upper(), texts["currency"], name, source)
    fault = fault_of(row)
    if fault is not None:
        raise UniverseError(f"{path} line {line}: {fault}")
    return row


def fault_of(row: Instrument) -> str | None:
    """What is wrong with the spelling of an instrument, None if nothing is."""
    symbol, exchange, currency = row.symbol, row.exchange, row.currency
    if (share_class := _SHARE_CLASS.fullmatch(symbol)) is not None:
        return f"symbol {symbol!r}: write the share class with a space, {' '.join(share_class.groups())!r}"
    if not _SYMBOL.fullmatch(symbol):
        return f"symbol {symbol[:MAX_SYMBOL_CHARS]!r}: capital letters, digits, blank . - / _ & +"
    if not _EXCHANGE.fullmatch(exchange):
        return f"exchange {exchange[:MAX_SYMBOL_CHARS]!r}: letters, digits, . and _"
    if not is_currency(currency):
        return f"currency {currency[:MAX_SYMBOL_CHARS]!r}: three capital letters"
    return None
