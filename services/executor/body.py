"""The running executor: connects log, broker and questions about prices, and ends when it is told to or must."""

import asyncio
import sys
from typing import Final

from services.executor.broker import Broker
from services.executor.rpc import Prices
from services.executor.service import AccountDiffers, Executor
from services.executor.settings import Settings
from services.executor.simulated.adapter import SimulatedBroker
from shared.bus.service import Service

STOP_POLL_S: Final = 0.1
STOP_GRACE_S: Final = 1.0
"""How long work that was begun may go on after a signal; waiting for the simulator is cut short."""


def _broker(settings: Settings) -> Broker:
    """The simulator over JSON lines, or over its TWS port; the library for that is loaded only then."""
    if settings.gateway_port_file is None:
        return SimulatedBroker(settings.simulator_port_file)
    from services.executor.ibkr.standin import stand_in

    return stand_in(settings.gateway_port_file)


class Body:
    """One run of the executor. `exit_code` is 3 after log and broker were found to contradict each other, else 0."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self.exit_code = 0

    async def run(self, service: Service[Settings]) -> None:
        """Work until a signal comes or log and broker do not agree; raises what else goes wrong."""
        broker = _broker(service.settings)
        executor = Executor(service.participant, broker)
        try:
            await Prices(executor.desk).serve(service.rpc)
            await self._work(service, executor)
        except AccountDiffers as error:
            self.exit_code = error.exit_code
            print(f"executor: {error}", file=sys.stderr, flush=True)
        finally:
            await broker.close()

    async def _work(self, service: Service[Settings], executor: Executor) -> None:
        """Run the executor; after a signal it gets `STOP_GRACE_S` to come to rest."""
        work = asyncio.create_task(executor.run(lambda: service.stopping))
        try:
            while not work.done() and not service.stopping:
                await asyncio.wait({work}, timeout=STOP_POLL_S)
            await asyncio.wait({work}, timeout=STOP_GRACE_S)
        finally:
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.result()
