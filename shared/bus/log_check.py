"""What must still be true of the log whenever a reader starts or comes back: JetStream does not prove its own completeness."""

from collections.abc import Awaitable, Callable

from shared.bus.js_api import Lookup, StreamInfo, log_info, stream_info
from shared.bus.link import Link
from shared.bus.ports import LogBroken, Stored
from shared.bus.seen import check_whole
from shared.protocol.ids import STREAM


class LogCheck:
    """Remembers which stream this process works with, and up to where it saw it; one for each connection."""

    def __init__(self, link: Link, lookup: Lookup) -> None:
        """Ask over `link`; `lookup` finds a message by its sequence."""
        self._link, self._lookup = link, lookup
        self._created: str | None = None
        self._seen = 0
        self._epoch = -1
        self.look: Callable[[], Awaitable[None]] | None = None
        """A closer look, awaited before each append; it costs nothing unless the connection came back."""

    def saw(self, seq: int) -> None:
        """The log is at least this long."""
        self._seen = max(self._seen, seq)

    async def before_append(self) -> None:
        """Check once for each time that the connection came back: nothing may be appended to a foreign or shortened log.

        Asks only once; the append that it belongs to is repeated.
        """
        if self._epoch != self._link.epoch:
            epoch = self._link.epoch
            self._check_state(await stream_info(self._link, watchdog_s=0.0), self._seen)
            self._epoch = epoch
        if self.look is not None:
            await self.look()

    async def before_reading(self, cursor: int, last: Stored | None) -> None:
        """Raise `LogBroken` unless it is the same stream, nothing deleted, not shorter than `cursor`, holding `last`."""
        epoch = self._link.epoch
        self._check_state(await stream_info(self._link), max(cursor, self._seen))
        found = None if last is None else await self._lookup({"seq": last.seq})
        if last is not None and (found is None or found.payload != last.payload):
            raise LogBroken(f"sequence {last.seq} is not the message that was read there: the log was replaced")
        self.saw(cursor)
        self._epoch = epoch

    def _check_state(self, info: StreamInfo | None, cursor: int) -> None:
        if info is None:
            raise LogBroken(f"there is no stream {STREAM}: it was never made, or it was removed")
        if self._created not in {None, info.created}:
            raise LogBroken(
                f"the stream {STREAM} made at {self._created}, seen up to sequence {cursor}, "
                f"was replaced by one made at {info.created}"
            )
        self._created = info.created
        state = info.state
        if state.last_seq < cursor:
            raise LogBroken(
                f"the log ends at sequence {state.last_seq}, but {cursor} was seen: "
                f"sequences {state.last_seq + 1} to {cursor} are lost"
            )
        check_whole(log_info(info))
