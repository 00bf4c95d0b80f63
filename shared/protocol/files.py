"""Reading files that a person names: regular ones only, within a bound, so that nothing waits for a pipe or never ends."""

import stat
from pathlib import Path


class FileRefused(ValueError):
    """Why a file is not read, in words; the caller names the file."""


def read_regular(path: Path, most: int, wanted: str = "a file") -> bytes:
    """The bytes of a regular file of at most `most` bytes; raises `FileRefused`. Nothing else is ever opened."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise FileRefused(f"is no regular file: give {wanted}, not a folder, pipe or device")
        if found.st_size <= most:
            with path.open("rb") as file:
                data = file.read(most + 1)
            if len(data) <= most:
                return data
    except FileRefused:
        raise
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise FileRefused(f"cannot be read ({said}): check the path") from error
    raise FileRefused(f"over {most} bytes, which is the most that is read")
