"""The stream `EV`: its one right configuration, made by the desk process and compared by it at every start."""

from typing import Any, Final

from shared.bus.js_api import NS_PER_S, ApiFailure, StreamInfo, call, stream_info
from shared.bus.link import Link
from shared.bus.ports import Refused
from shared.protocol.ids import STREAM

DUPLICATE_WINDOW_S: Final = 120
MAX_MESSAGE_BYTES: Final = 600 * 1024
NAME_IN_USE: Final = 10058

CONFIG: Final[dict[str, object]] = {
    "name": STREAM,
    "subjects": ["ev.*.*.*"],
    "storage": "file",
    "retention": "limits",
    "discard": "new",
    "num_replicas": 1,
    "max_consumers": -1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 0,
    "max_msgs_per_subject": -1,
    "max_msg_size": MAX_MESSAGE_BYTES,
    "duplicate_window": DUPLICATE_WINDOW_S * NS_PER_S,
    "compression": "none",
    "allow_direct": True,
    "mirror_direct": False,
    "sealed": False,
    "deny_delete": True,
    "deny_purge": True,
    "allow_rollup_hdrs": False,
    "allow_msg_ttl": False,
}
UNIMPORTANT: Final = frozenset({"metadata", "description"})


def differences(actual: dict[str, Any]) -> list[str]:
    """Where a stream's configuration is not the wanted one; a field we do not know counts unless it is empty."""
    found = [
        f"{name} is {actual.get(name)!r}, must be {wanted!r}" for name, wanted in CONFIG.items() if actual.get(name) != wanted
    ]
    unknown = sorted(name for name in actual if name not in CONFIG and name not in UNIMPORTANT and actual[name])
    return found + [f"{name} is {actual[name]!r}, must not be set" for name in unknown]


async def ensure_stream(link: Link) -> None:
    """Make the stream if there is none, and read it back: the server changes what it does not like without a word.

    Raises `Refused` that names every field that differs.
    """
    info = await stream_info(link)
    if info is None:
        info = await _make(link)
    wrong = differences(info.config)
    if wrong:
        raise Refused(
            f"stream {STREAM} is not the one this desk writes to: {'; '.join(wrong)}. "
            "It is never changed in place: restore its configuration, or start with a new data directory"
        )


async def _make(link: Link) -> StreamInfo:
    try:
        return await call(link, f"STREAM.CREATE.{STREAM}", CONFIG, StreamInfo)
    except ApiFailure as failure:
        info = await stream_info(link) if failure.err_code == NAME_IN_USE else None
        if info is None:
            raise Refused(f"the server does not make stream {STREAM}: {failure}") from failure
        return info
