"""One connection to TWS or IB Gateway: opened whole or not at all, with the same client id for ever, one request at a time."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
import structlog
from ib_async import IB, Contract, Order, OrderState, StartupFetch, StartupFetchALL
from ib_async.wrapper import RequestError

from services.executor.broker import BrokerError, BrokerLost, BrokerRefused
from services.executor.ibkr.codes import Meaning, meaning
from services.executor.ibkr.safety import Mode, Wanted, check_accounts, check_configuration

T = TypeVar("T")

CONNECT_S: Final = 20.0
REQUEST_S: Final = 30.0
HEARTBEAT_S: Final = 5.0
RETRY_S: Final = 2.0
MESSAGES_PER_S: Final = 45
UNLIMITED: Final = 0
FETCHED: Final = StartupFetchALL & ~StartupFetch.SUB_ACCOUNT_UPDATES
"""All lists; the values of the one account come with its own subscription."""
MAX_ENDED: Final = 100_000


class IdInUse(BrokerError):
    """Another connection has this client id; the same id is tried again."""


class Target(msgspec.Struct, frozen=True):
    """Where to connect and as whom. `stepped`: the other side is a simulator whose clock only the desk moves."""

    host: str
    port: int
    wanted: Wanted
    client_id: int = 7
    read_only: bool = False
    stepped: bool = False
    connect_s: float = CONNECT_S
    request_s: float = REQUEST_S
    retry_s: float = RETRY_S


ErrorHandler = Callable[[int, int, str], None]


class Link:
    """An open connection with one account. It ends once and is never revived; a new one is a new object with a new client."""

    def __init__(self, ib: IB, account: str, target: Target) -> None:
        """Use `open_link`."""
        self.ib, self.account, self._target = ib, account, target
        self._asking = asyncio.Lock()
        self.clock: datetime | None = None
        """The other side's time right behind the last answer, where that is known."""
        self.lost: str | None = None
        """Why nothing may be sent though the socket is open: the gateway has lost the broker."""
        self.ended: dict[int, str] = {}
        """The broker's words about the end of completed orders, by permanent id: the library reads them and lets them go."""
        ib.errorEvent += self._said
        self._keep_words(ib)

    @property
    def stepped(self) -> bool:
        """Whether the other side's clock is moved by the desk alone."""
        return self._target.stepped

    @property
    def is_open(self) -> bool:
        """Whether the socket is open; a half-open one is found out by `alive` only."""
        return self.ib.isConnected()

    async def ask(self, request: Callable[[], Awaitable[T]], what: str) -> T:
        """One request at a time, up to its end marker; raises `BrokerLost` without one, `BrokerRefused` for an error about it.

        Two requests of one kind at a time would make the library forget the first of them.
        """
        async with self._asking:
            self._check()
            try:
                return await asyncio.wait_for(self._timed(request), self._target.request_s)
            except RequestError as error:
                raise BrokerRefused(str(error.code), error.message) from error
            except TimeoutError as error:
                raise BrokerLost(f"{what}: no answer within {self._target.request_s:g} s") from error
            except ConnectionError as error:
                raise BrokerLost(f"{what}: {error}") from error

    async def _timed(self, request: Callable[[], Awaitable[T]]) -> T:
        """The answer; of a stand-in the time right behind it too, which costs no turn: it answers in order.

        Only what was sent by the call itself is sure to be on its way before the question for the time.
        """
        sent = request()
        if not (self.stepped and isinstance(sent, asyncio.Future)) or "currentTime" in self.ib.wrapper._futures:
            self.clock = None
            return await sent
        time: asyncio.Future[datetime] = self.ib.reqCurrentTimeAsync()  # type: ignore[assignment]
        time.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        value: T = await sent
        self.clock = (await time).astimezone(UTC)
        return value

    async def alive(self) -> bool:
        """Whether the other side answers at all: to be asked before each batch of orders."""
        try:
            await asyncio.wait_for(self.ask(self.ib.reqCurrentTimeAsync, "heartbeat"), HEARTBEAT_S)
        except (BrokerError, TimeoutError):
            return False
        return True

    def close(self) -> None:
        """Close the socket."""
        self.ib.disconnect()

    def _keep_words(self, ib: IB) -> None:
        """Listen in where completed orders reach the library."""
        completed = ib.wrapper.completedOrder

        def listen(contract: Contract, order: Order, state: OrderState) -> None:
            if len(self.ended) < MAX_ENDED:
                self.ended[order.permId] = str(state.completedStatus or "")
            completed(contract, order, state)

        ib.wrapper.completedOrder = listen  # type: ignore[assignment, method-assign]

    def _check(self) -> None:
        """Raises `BrokerLost` where nothing can be asked."""
        if not self.ib.isConnected():
            raise BrokerLost("the connection to the gateway has ended")
        if self.lost is not None:
            raise BrokerLost(self.lost)

    def _said(self, _about: int, code: int, words: str, _contract: Any) -> None:
        """Remember whether the gateway has its broker."""
        said = meaning(code)
        if said is Meaning.DISCONNECTED:
            self.lost = f"{code}: {words}"
        elif said in {Meaning.RESTORED, Meaning.RESTORED_BARE}:
            self.lost = None


async def open_link(target: Target) -> Link:
    """Connect once with all start-up requests answered; raises `BrokerUnsafe`, `IdInUse`, `BrokerLost`."""
    mode = check_configuration(target.wanted)
    ib = IB()
    ib.RaiseRequestErrors = True
    ib.TimezoneTWS = "UTC"
    ib.client.MaxRequests = UNLIMITED if target.stepped else MESSAGES_PER_S
    try:
        await _connect(ib, target)
        return Link(ib, _account(ib, mode, target), target)
    except BaseException:
        ib.disconnect()
        raise


def _account(ib: IB, mode: Mode, target: Target) -> str:
    """The one account; raises `BrokerUnsafe`."""
    return check_accounts(mode, ib.managedAccounts(), target.wanted)


async def _connect(ib: IB, target: Target) -> None:
    """The library's connect, but ended at once by error 326, which it does not notice; raises `IdInUse`, `BrokerLost`."""
    in_use: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def said(_about: int, code: int, words: str, _contract: Any) -> None:
        if meaning(code) is Meaning.ID_IN_USE and not in_use.done():
            in_use.set_result(words)

    ib.errorEvent += said
    connecting = asyncio.ensure_future(
        ib.connectAsync(
            target.host,
            target.port,
            target.client_id,
            timeout=target.connect_s,
            readonly=target.read_only,
            raiseSyncErrors=True,
            fetchFields=FETCHED,
        )
    )
    try:
        await asyncio.wait({connecting, in_use}, return_when=asyncio.FIRST_COMPLETED)
        if in_use.done():
            raise IdInUse(f"client id {target.client_id} is in use: {in_use.result()}")
        connecting.result()
    except (OSError, TimeoutError, ConnectionError) as error:
        raise BrokerLost(f"no gateway at {target.host}:{target.port}: {str(error) or type(error).__name__}") from error
    finally:
        in_use.cancel()
        connecting.cancel()
        await asyncio.gather(connecting, return_exceptions=True)
        ib.errorEvent -= said


async def open_until(target: Callable[[], Target], alert: Callable[[str], None] = lambda _: None) -> Link:
    """Try without end, `target` asked each time, every `retry_s`; `alert` hears once of an id in use. Raises `BrokerUnsafe`."""
    log, told = structlog.get_logger(), False
    for number in itertools.count(1):
        pause_s = RETRY_S
        try:
            pause_s = target().retry_s
            return await open_link(target())
        except IdInUse as error:
            if not told:
                alert(str(error))
                told = True
        except BrokerLost as error:
            if number == 1:
                log.warning("waiting for the gateway", error=str(error))
        await asyncio.sleep(pause_s)
    raise AssertionError("unreachable")
