"""What must still be true of the log whenever a reader starts or comes back: JetStream does not prove its own completeness."""

from shared.bus.js_api import Lookup, StreamInfo, leader, stream_info
from shared.bus.link import Link
from shared.bus.ports import LogBroken, Stored
from shared.protocol.ids import STREAM


class LogCheck:
    """Remembers which stream was read."""

    def __init__(self, link: Link, lookup: Lookup | None = None) -> None:
        """Ask over `link`; `lookup` finds a message by sequence, by default from the stream's leader."""
        self._link = link
        self._lookup = lookup or leader(link)
        self._created: str | None = None

    async def run(self, cursor: int, last: Stored | None) -> None:
        """Raise `LogBroken` unless it is the same stream, nothing deleted, not shorter than `cursor`, holding `last`."""
        info = await stream_info(self._link)
        if info is None:
            raise LogBroken(f"there is no stream {STREAM}: it was never made, or it was removed")
        self._check_state(info, cursor)
        if last is not None and await self._lookup({"seq": last.seq}) != last:
            raise LogBroken(f"sequence {last.seq} is not the message that was read there: the log was replaced")

    def _check_state(self, info: StreamInfo, cursor: int) -> None:
        if self._created not in {None, info.created}:
            raise LogBroken(f"the stream {STREAM} made at {self._created} was replaced by one made at {info.created}")
        self._created = info.created
        state = info.state
        if state.num_deleted or state.first_seq > 1:
            raise LogBroken(
                f"the log begins at sequence {state.first_seq} and lacks {state.num_deleted} of the later ones, "
                "though nothing is ever deleted from it"
            )
        if state.last_seq < cursor:
            raise LogBroken(
                f"the log ends at sequence {state.last_seq}, but {cursor} was read: "
                f"sequences {state.last_seq + 1} to {cursor} are lost"
            )
