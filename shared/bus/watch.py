"""Remembers what was seen of the log, and lets nothing be appended to one that was not looked at since the connection came."""

import asyncio
from pathlib import Path
from typing import Any, Final, Never

import structlog

from shared.bus.folder import SEEN_FILE, make_folder, write_whole
from shared.bus.follower import Follower
from shared.bus.identity import Line
from shared.bus.js_api import ApiFailure
from shared.bus.ports import NoResponder, Unavailable
from shared.bus.seen import Seen, check_whole, compare, read_seen
from shared.protocol.envelope import sha256_hex

WRITE_EVERY_S: Final = 1.0
LOOK_PAUSE_S: Final = 0.1

_log = structlog.get_logger("bus")


class LogWatch:
    """Compares the log with what was seen of it: at the start with `seen.json`, after each reconnect with what was folded."""

    def __init__(self, connection: Line, follower: Follower[Any], folder: Path | None, who: str) -> None:
        """Keep `seen.json` in `folder` (None: nowhere); `who` is named in messages."""
        self._link, self._log, self._follower = connection.link, connection.log, follower
        self._folder, self._who = folder, who
        self._created, self._first_seq = "", 1
        self._looked_at = -1
        self._written = 0
        self._looking = asyncio.Lock()
        self._moved = asyncio.Event()

    async def begin(self) -> None:
        """Look at the log before anything of it is folded; raises `LogBroken` if it is not what was seen."""
        if self._folder is not None:
            make_folder(self._folder)
        epoch = self._link.epoch
        seen = self._read()
        info = await self._log.info()
        if seen is not None:
            info = await compare(self._log, seen, self._who)
        check_whole(info)
        if seen is None and info.last_seq:
            _log.warning("nothing says what was seen of this log before: a loss until now goes unnoticed", file=SEEN_FILE)
        self._created, self._first_seq = info.created, 1
        self._looked_at = epoch
        self._log.watched_by(self.intact)
        self._link.listen(self._moved.set)

    def _read(self) -> Seen | None:
        """What was seen; a file that cannot be read says as little as none."""
        try:
            return None if self._folder is None else read_seen(self._folder)
        except ValueError as error:
            _log.warning("a file cannot be read and is as good as missing", error=str(error))
            return None

    async def intact(self) -> None:
        """Return once the log was looked at on this connection; raises `LogBroken`, or `Unavailable` when nobody answers."""
        if self._looked_at == self._link.epoch:
            return
        async with self._looking:
            epoch = self._link.epoch
            if self._looked_at == epoch:
                return
            try:
                await self._compare()
            except ApiFailure as error:
                raise Unavailable(f"the log cannot be looked at: {error}") from error
            self._looked_at = epoch

    async def _compare(self) -> None:
        seen = self._seen()
        if seen is not None:
            await compare(self._log, seen, self._who)
        else:
            check_whole(await self._log.info())

    def _seen(self) -> Seen | None:
        """The last event folded; None before the first."""
        last = self._follower.last
        if last is None:
            return None
        return Seen(last.seq, sha256_hex(last.payload), self._created, self._first_seq)

    async def run(self) -> Never:
        """Look again after each reconnect, and write `seen.json` at most once a second; raises `LogBroken`."""
        while True:
            try:
                async with asyncio.timeout(WRITE_EVERY_S):
                    await self._moved.wait()
            except TimeoutError:
                await self.write()
                continue
            self._moved.clear()
            await self._look()

    async def _look(self) -> None:
        """Look as soon as somebody answers; a server that stays silent is noticed elsewhere (`lifeline.guard`)."""
        while self._looked_at not in {-1, self._link.epoch}:
            try:
                await self.intact()
            except (Unavailable, NoResponder):
                await asyncio.sleep(LOOK_PAUSE_S)

    async def write(self) -> None:
        """Write what was folded, off the event loop; a full disk costs only the memory of it."""
        seen = self._seen()
        if self._folder is None or seen is None or seen.seq == self._written or not self._created:
            return
        try:
            await asyncio.to_thread(write_whole, self._folder / SEEN_FILE, seen.encoded())
        except OSError as error:
            _log.warning("what was seen of the log cannot be kept", error=str(error))
            return
        self._written = seen.seq

    async def close(self) -> None:
        """Write the last of it, whatever ended the work: only what was folded and right is ever written."""
        self._link.unlisten(self._moved.set)
        await self.write()
