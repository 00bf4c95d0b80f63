"""Symbols of a price file: which texts are names, and when two of them are one name."""

import re
from typing import Final

MAX_SYMBOL_CHARS: Final = 32
RESERVED: Final = "*>:"
"""`:` parts symbol and currency in an instrument's key; `*` and `>` are wildcards of the event log."""

FORMULA_STARTS: Final = "=+-@"
"""What makes a spreadsheet run a cell."""

_SEPARATORS: Final = re.compile(r"[ ./_-]+", re.ASCII)
_CLASS_SHARE: Final = re.compile(r"([A-Za-z]{1,5})[ ./_-]+([A-Ca-c]|[Pp][Rr])", re.ASCII)
"""A to C name classes, PR preferred shares; other letters after a dot are exchanges (`VOD.L`)."""


def fault(symbol: str) -> str | None:
    """What keeps a text from being a symbol, and what to write instead; None for a name, as NA, TRUE, 7203 and 0700.HK are."""
    if not 1 <= len(symbol) <= MAX_SYMBOL_CHARS:
        return f"a symbol has 1 to {MAX_SYMBOL_CHARS} characters"
    if not (symbol.isascii() and symbol.isprintable()) or symbol != symbol.strip():
        return "a symbol is printable ASCII without blanks around it"
    if any(character in symbol for character in RESERVED) or symbol[0] in FORMULA_STARTS:
        return f"a symbol holds none of {' '.join(RESERVED)} and begins with none of {' '.join(FORMULA_STARTS)}"
    share = _CLASS_SHARE.fullmatch(symbol)
    candidate = f"{share[1]} {share[2]}".upper() if share else symbol
    return None if candidate == symbol else f"class shares are written with a blank: {candidate!r}"


def one_spelling(symbol: str) -> str:
    """A text that is equal for two spellings of one name, whatever their case and separators."""
    return _SEPARATORS.sub(" ", symbol).upper()
