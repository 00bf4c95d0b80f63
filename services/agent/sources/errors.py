"""What can be wrong with the configuration of a source."""


class SourceError(Exception):
    """A source that cannot be used as it was asked for: where, what, and what to do.

    `file` and `line` (from 1) are None for what does not stand in a file.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        """Keep the place and the message."""
        self.message, self.file, self.line = message, file, line
        place = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(f"{place}{message}")
