"""The `Rpc` port over NATS: request and reply, at most once."""

import asyncio
from typing import Final

import structlog
from nats import errors
from nats.aio.msg import Msg

from shared.bus.answers import answer
from shared.bus.link import Link
from shared.bus.ports import Handler

MAX_CONCURRENT: Final = 16
MAX_WAITING: Final = 1000

_log = structlog.get_logger("bus")


class NatsRpc:
    """The `Rpc` port on one connection."""

    def __init__(self, link: Link) -> None:
        """Talk over `link`."""
        self._link = link
        self._running: set[asyncio.Task[None]] = set()

    async def request(self, subject: str, payload: bytes, timeout_s: float) -> bytes:
        """Ask and wait for the answer; raises `NoResponder` or `Unavailable`."""
        return await self._link.ask(subject, payload, timeout_s)

    async def serve(self, subject: str, handler: Handler) -> None:
        """Answer requests on `subject`, at most `MAX_CONCURRENT` at once; of the others `MAX_WAITING` wait."""
        free = asyncio.Semaphore(MAX_CONCURRENT)

        async def reply(message: Msg) -> None:
            try:
                await self._link.client.publish(message.reply, await answer(handler, message.data, subject))
            except errors.Error as error:
                _log.warning("answer was not sent", subject=subject, error=str(error))
            finally:
                free.release()

        async def received(message: Msg) -> None:
            await free.acquire()
            task = asyncio.get_running_loop().create_task(reply(message))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

        await self._link.client.subscribe(subject, cb=received, pending_msgs_limit=MAX_WAITING)
