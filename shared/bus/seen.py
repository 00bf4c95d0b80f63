"""What a service last saw of the log, kept outside of it: JetStream does not prove its own completeness (`spec/bus.md`, C5)."""

from pathlib import Path
from typing import Final

import msgspec

from shared.bus.folder import SEEN_FILE
from shared.bus.ports import Log, LogBroken, LogInfo
from shared.protocol.envelope import canonical, sha256_hex
from shared.protocol.files import FileRefused, read_regular
from shared.protocol.ids import STREAM

MAX_BYTES: Final = 4096


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last event folded, by sequence and hash of its payload, and which stream it stood in."""

    seq: int
    event_sha256: str
    stream_created: str
    first_seq: int

    def encoded(self) -> bytes:
        """As it stands in the file."""
        return canonical(self) + b"\n"


def read_seen(folder: Path) -> Seen | None:
    """What stands in a service's folder, None if there is no file; raises `ValueError` for one that cannot be read."""
    path = folder / SEEN_FILE
    try:
        return msgspec.json.decode(read_regular(path, MAX_BYTES), type=Seen) if path.exists() else None
    except (FileRefused, OSError, msgspec.DecodeError) as error:
        raise ValueError(f"{path}: {error}") from error


async def compare(log: Log, seen: Seen, who: str) -> LogInfo:
    """Raise `LogBroken`, naming the sequences, unless the log still holds everything that `who` saw of it."""
    info = await log.info()
    _compare_stream(info, seen, who)
    found = await log.get(seen.seq)
    if found is None:
        raise LogBroken(f"sequence {seen.seq}, which {who} saw, is missing from the log")
    if sha256_hex(found.payload) != seen.event_sha256:
        raise LogBroken(f"sequence {seen.seq} is not the event that {who} saw there: it was changed, or the log is another one")
    return info


def _compare_stream(info: LogInfo, seen: Seen, who: str) -> None:
    if info.created != seen.stream_created:
        raise LogBroken(
            f"the stream {STREAM} made at {seen.stream_created}, of which {who} saw sequences {seen.first_seq} to {seen.seq}, "
            f"was replaced by one made at {info.created} that ends at sequence {info.last_seq}"
        )
    if info.last_seq < seen.seq:
        raise LogBroken(
            f"the log ends at sequence {info.last_seq}, but {who} saw {seen.seq}: "
            f"sequences {info.last_seq + 1} to {seen.seq} are lost"
        )
    check_whole(info, seen.first_seq)


def check_whole(info: LogInfo, first_seq: int = 1) -> None:
    """Raise `LogBroken`, naming the sequences, if the log begins later than at `first_seq` or has a hole."""
    if info.first_seq > first_seq:
        raise LogBroken(
            f"the log begins at sequence {info.first_seq}: sequences {first_seq} to {info.first_seq - 1} are lost, "
            "though nothing is ever deleted from it"
        )
    if info.deleted:
        named = f", namely {info.holes}" if info.holes else ""
        raise LogBroken(
            f"the log lacks {info.deleted} of the sequences {info.first_seq} to {info.last_seq}{named}, "
            "though nothing is ever deleted from it"
        )
