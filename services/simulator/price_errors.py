"""What can be wrong with a price file, said so that a person can mend it."""

from typing import Final

MAX_SHOWN_CHARS: Final = 40


class PriceFileError(Exception):
    """A price file that is refused: `file`, `line` (from 1) and `column` say where, None where it is the whole file or line."""

    def __init__(self, file: str, line: int | None, column: str | None, message: str) -> None:
        """Keep the place and the message."""
        self.file, self.line, self.column, self.message = file, line, column, message
        places = [file]
        if line is not None:
            places.append(f"line {line}")
        if column is not None:
            places.append(f"column {column}")
        super().__init__(f"{', '.join(places)}: {message}")


def shown(text: str) -> str:
    """Foreign text for a message: quoted, escaped, at most `MAX_SHOWN_CHARS` characters of it."""
    return ascii(text[:MAX_SHOWN_CHARS]) + ("…" if len(text) > MAX_SHOWN_CHARS else "")
