"""One connection as the gateway sees it: what it subscribed to, and what waits to be written to it. No socket in here."""

from collections import deque
from collections.abc import Callable
from typing import Final

from services.simulator.tws.contracts import Instrument
from services.simulator.tws.fields import Message, encode

MAX_WAITING: Final = 200_000
LIVE: Final = 1


class Client:
    """A connection. `id` is None until it said its client id; `closing` ends it once what waits is written, `aborted` at once."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        """Nothing is subscribed; `wake` is called whenever there is something to write or to end."""
        self._wake = wake
        self.id: int | None = None
        self.waiting: deque[bytes] = deque()
        self.closing = False
        self.aborted = False
        self.data_type = LIVE
        self.positions = False
        self.account: str | None = None
        self.multi: dict[int, str] = {}
        self.summaries: dict[int, tuple[str, ...]] = {}
        self.tickers: dict[int, Instrument] = {}
        self.auto_open = False
        self.strikes = 0

    def send(self, message: Message) -> None:
        """Let a message wait to be written; a connection that reads too slowly is ended."""
        self.send_payload(encode(message))

    def send_payload(self, payload: bytes) -> None:
        """Let a payload wait to be written as it is."""
        if len(self.waiting) >= MAX_WAITING:
            self.abort()
        if not (self.closing or self.aborted):
            self.waiting.append(payload)
            self._wake()

    def close(self) -> None:
        """End the connection once everything was written."""
        self.closing = True
        self._wake()

    def abort(self) -> None:
        """End the connection now; what waits is never written."""
        self.aborted = True
        self.waiting.clear()
        self._wake()

    def take(self) -> list[bytes]:
        """Everything that waits."""
        taken = list(self.waiting)
        self.waiting.clear()
        return taken
