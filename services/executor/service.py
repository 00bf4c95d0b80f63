"""The executor's shell: takes what it owes from the folded log, in step with the broker's clock, and does one thing at a time."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, NoReturn, Protocol

import structlog

from services.executor import decisions
from services.executor.account import AccountWatch
from services.executor.broker import Broker, BrokerContradiction, BrokerLost, BrokerRefused
from services.executor.desk import Desk, OutOfStep, Scribe
from services.executor.reconcile import contradiction, log_lost
from services.executor.trading import Trading
from shared.bus.ports import Unavailable
from shared.ledger.dry import DRY
from shared.ledger.owed import Owed, owed
from shared.ledger.state import State
from shared.protocol.events import ReconciliationFailed

FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 1.0
MODE: Final = "sim"
NOT_YET: Final = 0


class AccountDiffers(Exception):
    """Log and broker do not agree, and nothing more may be sent: exit 3. The reason stands in the log."""

    exit_code: Final = 3


class WrongMode(Exception):
    """The log belongs to a way of trading that this executor must not take part in."""


class Log(Scribe, Protocol):
    """The part of the bus's participant that the shell needs."""

    async def advance(self, timeout_s: float | None = None) -> bool:
        """Wait for the next event and fold it."""
        ...


class Executor:
    """Works off what the executor owes until it is cancelled."""

    def __init__(self, participant: Log, broker: Broker) -> None:
        """Work for `participant` at `broker`."""
        self._participant, self._broker = participant, broker
        self.desk = Desk(participant, broker)
        self._trading = Trading(self.desk)
        self._account = AccountWatch(self.desk, self._trading)
        self._looked_at = NOT_YET
        self._pause_s = FIRST_PAUSE_S
        self._log = structlog.get_logger()

    async def run(self, stopped: Callable[[], bool]) -> None:
        """Work until `stopped` says so; raises `AccountDiffers` once log and broker contradict each other."""
        while not stopped():
            try:
                worked = await self._work()
            except OutOfStep as error:
                self._log.debug("looking at the broker again", reason=str(error))
                continue
            except (BrokerLost, BrokerRefused) as error:
                await self._pause(error)
                continue
            except BrokerContradiction as error:
                await self._fail(contradiction(str(error)))
            self._pause_s = FIRST_PAUSE_S
            if not worked:
                await self._participant.advance()

    async def _work(self) -> bool:
        """Do the first thing that can be done; False if there is nothing to do before the log goes on."""
        state = self.desk.state
        if state.problem is not None:
            raise AccountDiffers(f"the log says that reconciliation failed: {state.problem}")
        if state.now is None or not self._may_act(state):
            return False
        items = tuple(in_order(owed(state)))
        if not items and self._looked_at == self._broker.connection != NOT_YET:
            return False
        await self._keep_step()
        if self.desk.state is not state:
            return True
        for item in items:
            if await self._do(item):
                return True
        return False

    async def _keep_step(self) -> None:
        """Wait until the broker's clock is at desk time, then look at the account if the connection is new.

        A broker that is ahead of the whole log means that the log was lost: nothing may be sent on what is left of it.
        """
        while True:
            now, broker_time = self.desk.state.now, self._broker.known_clock or await self._broker.clock()
            if now is None or broker_time == now:
                break
            if broker_time is None or broker_time < now:
                await self._broker.wait(now)
                continue
            await self._participant.catch_up()
            folded = self.desk.state.now
            if folded is None or folded < broker_time:
                await self._fail(log_lost(folded or now, broker_time))
        await self._look()

    async def _look(self) -> None:
        """Reconcile once per connection, saying only what differs: it blocks buying, and exits stay open."""
        if self._looked_at == self._broker.connection:
            return
        connection = self._broker.connection
        difference = await self._account.difference()
        if difference is not None:
            self._log.error("log and broker differ", alarm=True, lines=words(difference))
            if not await self.desk.append(decisions.desk_failed(self.desk.state, difference)):
                raise OutOfStep("the log went on while the account was looked at")
        self._looked_at = connection

    async def _do(self, item: Owed) -> bool:
        """One owed event; False if it has to wait for another one."""
        state = self.desk.state
        match item.type:
            case "AccountReconciled":
                await self._account.reconcile(item)
            case "MarketObserved":
                await self._account.observe(item)
            case "OrderIntended":
                return await self._trading.advance(item.run)
            case "OrderPlaced":
                await self._trading.resolve(item.about)
            case "OrderClosed":
                await self._trading.close(item.about)
            case "RunSettled":
                await self.desk.append(decisions.settled(state, self.desk.run(item.run)))
            case "StateHashed":
                await self.desk.append(decisions.hashed(state))
            case _:
                raise AssertionError(f"the executor owes {item.type}, which it does not know")
        return True

    def _may_act(self, state: State) -> bool:
        """Whether the step of desk time is real to us: never a dry one; raises `WrongMode` for any but simulated."""
        mode = state.step.event.envelope.mode if state.step else MODE
        if mode not in {MODE, DRY}:
            raise WrongMode(f"the log is of mode {mode}, this executor trades at the simulator only: give it a desk of its own")
        return mode == MODE

    async def _fail(self, failure: ReconciliationFailed) -> NoReturn:
        """Say what does not agree, and end."""
        while not await self.desk.append(decisions.desk_failed(self.desk.state, failure)):
            continue
        raise AccountDiffers(f"log and broker do not agree: {words(failure)}: look at both before anything is traded")

    async def _pause(self, error: Exception) -> None:
        """Wait a little longer each time before asking a broker again that does not answer or refuses.

        The log is folded meanwhile: a connection also ends because another executor took over, which fences this one.
        """
        self._log.warning("the broker did not do it, trying again", error=str(error), pause_s=self._pause_s)
        await asyncio.sleep(self._pause_s)
        with suppress(Unavailable):
            await self._participant.catch_up()
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)


def words(failure: ReconciliationFailed) -> str:
    """Every difference on one line."""
    return "; ".join(f"{line.what}: log {line.expected}, broker {line.found}" for line in failure.differences)


def in_order(items: tuple[Owed, ...]) -> Iterator[Owed]:
    """What the executor owes and can do, unfinished intents first."""
    own = [item for item in items if item.author == decisions.AUTHOR and not item.resting]
    yield from (item for item in own if item.type == "OrderPlaced")
    yield from (item for item in own if item.type != "OrderPlaced")
