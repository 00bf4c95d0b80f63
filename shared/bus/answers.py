"""How a request handler's failure is answered, the same over NATS and in memory."""

from typing import Final

import structlog

from shared.bus.ports import Handler
from shared.protocol.envelope import canonical, clean_text

MAX_ERROR_CHARS: Final = 500

_log = structlog.get_logger("bus")


def error_document(code: str, message: str) -> bytes:
    """`{"error": {"code", "message"}}`."""
    return canonical({"error": {"code": code, "message": clean_text(message, MAX_ERROR_CHARS)}})


async def answer(handler: Handler, payload: bytes, subject: str) -> bytes:
    """What `handler` says to `payload`; if it raises, an error document with code `internal`."""
    try:
        return await handler(payload)
    except Exception as error:
        _log.exception("request handler failed", subject=subject)
        return error_document("internal", f"{type(error).__name__}: {error}")
