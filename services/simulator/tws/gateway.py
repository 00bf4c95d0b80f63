"""The gateway process behind the socket: sessions by client id, what they are answered, what they are told unasked.

Plain calls, no socket and no clock: the shell in `server` feeds payloads and writes what waits. State of the broker stands in
`books` and survives; everything in here dies with a restart of the gateway.
"""

import logging
from datetime import UTC, date, datetime
from typing import Final

from services.simulator.broker import Broker
from services.simulator.exchange import Command
from services.simulator.journal_file import NotStored
from services.simulator.orders import Advance
from services.simulator.state import Outcome
from services.simulator.ticking import Ticker
from services.simulator.tws import outbound as out
from services.simulator.tws.acting import act
from services.simulator.tws.asking import Request, StartApi
from services.simulator.tws.books import Books
from services.simulator.tws.client import Client
from services.simulator.tws.conditions import Conditions
from services.simulator.tws.contracts import Catalogue
from services.simulator.tws.faults import FaultError, Scheduled
from services.simulator.tws.fields import FieldError, Message, split
from services.simulator.tws.inbound import CANNOT_READ, Unreadable, read_message
from services.simulator.tws.serving import serve
from services.simulator.tws.telling import Teller
from shared.protocol.calendar import Calendar
from shared.protocol.instants import parse

SERVER_VERSION: Final = 178
MIN_CLIENT_VERSION: Final = 178
MAX_CLIENTS: Final = 32
ID_IN_USE: Final = (326, "Unable to connect as the client id is already in use. Retry with a unique client id.")
FARMS: Final = (
    (2104, "Market data farm connection is OK:usfarm"),
    (2106, "HMDS data farm connection is OK:ushmds"),
    (2158, "Sec-def data farm connection is OK:secdefnj"),
)
_log: Final = logging.getLogger(__name__)


class Gateway:
    """All connections to one account."""

    def __init__(self, broker: Broker, calendar: Calendar) -> None:
        """A gateway that has just started, on the broker's books."""
        self.broker, self.calendar = broker, calendar
        self.catalogue = Catalogue(broker.exchange)
        self.books = Books(broker, self.catalogue)
        self.conditions = Conditions()
        self.clients: dict[int, Client] = {}
        self.teller = Teller(self)
        self.clock: Ticker | None = None
        """Where time comes from, unless the books alone tell it (step clock)."""
        self.refused = 0
        """How many messages were not understood: a client library that has changed shows here."""
        self.scenario: list[Scheduled] = []
        """What a scenario file still holds, by time."""
        broker.watchers.append(self._took)

    @property
    def account(self) -> str:
        """The one account."""
        return self.broker.exchange.terms.account

    @property
    def now(self) -> datetime:
        """The simulator's time; before the first advance the first session's midnight."""
        if self.clock is not None:
            return self.clock.now
        clock = self.broker.state.clock
        return parse(clock) if clock else datetime.combine(self.broker.exchange.file.sessions[0], datetime.min.time(), UTC)

    @property
    def day(self) -> date:
        """The exchange's calendar day."""
        return self.now.astimezone(self.calendar.zone).date()

    def greet(self, client: Client, payload: bytes) -> None:
        """Answer the version range of a new connection, or end it."""
        low, _, rest = payload.decode("ascii", "replace").removeprefix("v").partition("..")
        high = rest.split(" ")[0]
        if not (low.isdigit() and high.isdigit() and int(low) <= SERVER_VERSION and int(high) >= MIN_CLIENT_VERSION):
            _log.error("a client with versions %r cannot be served: %d is spoken here", payload[:40], SERVER_VERSION)
            client.abort()
            return
        client.send(out.version(SERVER_VERSION, f"{self.now:%Y%m%d %H:%M:%S} UTC"))

    def handle(self, client: Client, payload: bytes) -> None:
        """Carry out one message; what is wrong with it is answered and logged. Raises `JournalError`."""
        try:
            request = read_message(split(payload))
        except FieldError as error:
            return self._refuse(client, Unreadable(CANNOT_READ, out.SYSTEM, f"Error reading request: {error}"), payload)
        except Unreadable as error:
            return self._refuse(client, error, payload)
        if isinstance(request, StartApi):
            return self._start(client, request.client)
        if client.id is None:
            _log.error("a message came before startApi: %r", payload[:80])
            return client.close()
        if not self.conditions.deaf:
            self._serve(client, request)
        return None

    def leave(self, client: Client) -> None:
        """A connection was read to its end and closed: its client id is free."""
        if client.id is not None and self.clients.get(client.id) is client:
            del self.clients[client.id]

    def to(self, client_id: int | None, message: Message) -> None:
        """Tell one client something, if it is connected; None is all of them."""
        for client in [self.clients.get(client_id)] if client_id is not None else list(self.clients.values()):
            if client is not None:
                client.send(message)

    def next_id(self, client_id: int) -> int:
        """The first order id that a client may use, as far as this gateway remembers."""
        return max(self.books.last_id(client_id) + 1 - self.conditions.rollback, 1)

    def _serve(self, client: Client, request: Request) -> None:
        """Answer one request; raises `JournalError`."""
        try:
            if self.clock is not None:
                self.clock.catch_up()
            serve(self, client, request)
        except Unreadable as error:
            client.send(out.error(error.about, error.code, str(error)))
        except NotStored as error:
            _log.error("%s", error)
            client.send(out.error(out.SYSTEM, CANNOT_READ, f"Server error when processing a request: {error}"))

    def _start(self, client: Client, client_id: int) -> None:
        """Take a connection into service, or refuse its client id."""
        if client.id is not None:
            client.send(out.error(out.SYSTEM, 501, "Already connected."))
        elif client_id in self.clients:
            client.send(out.error(out.SYSTEM, *ID_IN_USE))
            client.close()
        elif len(self.clients) >= MAX_CLIENTS:
            _log.error("%d clients are connected already", MAX_CLIENTS)
            client.close()
        else:
            client.id = client_id
            self.clients[client_id] = client
            client.send(out.managed_accounts([self.account]))
            client.send(out.next_valid_id(self.next_id(client_id)))
            for code, text in FARMS:
                client.send(out.error(out.SYSTEM, code, text))

    def _refuse(self, client: Client, error: Unreadable, payload: bytes) -> None:
        """A message that is not understood: an answer, and a loud line in the log."""
        self.refused += 1
        _log.error("client %s: %s: %r", client.id, error, payload[:200])
        client.send(out.error(error.about, error.code, str(error)))

    def _took(self, command: Command, outcome: Outcome) -> None:
        """The broker did something: remember it and tell those whom it concerns."""
        self.books.took(outcome)
        self.teller.tell(command, outcome)
        if isinstance(command, Advance):
            self.play()

    def play(self) -> None:
        """Do the scenario's faults whose time has come."""
        clock = self.broker.state.clock
        while self.scenario and (self.scenario[0].at is None or (clock is not None and self.scenario[0].at <= clock)):
            due = self.scenario.pop(0)
            try:
                act(self, due.fault)
            except FaultError as error:
                _log.error("scenario: %s: %s", due.fault, error)
