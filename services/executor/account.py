"""Looks at the account and the market, and says what it saw: reconciliation before each run and after each gap, observations."""

from services.executor import decisions
from services.executor.desk import Desk
from services.executor.fills import unsettled
from services.executor.reconcile import Picture, reconcile, sent_orders
from services.executor.trading import Trading
from shared.ledger.state import OrderState
from shared.protocol.events import ReconciliationFailed


class AccountWatch:
    """The account of one desk."""

    def __init__(self, desk: Desk, trading: Trading) -> None:
        """Watch for `desk`; what ended unnoticed is closed by `trading`."""
        self._desk, self._trading = desk, trading

    async def reconcile(self, run_id: str | None) -> None:
        """Before a run: book what the log lacks, one order at a time, then compare and say so."""
        picture = await self._picture()
        if await self._book_unnoticed(picture):
            return
        run = self._desk.run(run_id)
        result = reconcile(self._desk.state, picture)
        await self._desk.append(decisions.reconciled(self._desk.state, run, result))

    async def difference(self) -> ReconciliationFailed | None:
        """At start and after a gap: what differs, None if nothing does or a run's reconciliation has said so before.

        Executions that are not booked yet count as booked: they are work to do, in its order.
        """
        result = reconcile(self._desk.state, await self._picture())
        return result if isinstance(result, ReconciliationFailed) and not self._desk.state.account.failed else None

    async def _book_unnoticed(self, picture: Picture) -> bool:
        """Book the first order that was filled or ended without our noticing; False if there is none."""
        open_references = frozenset(order.reference for order in picture.open_orders or ())
        for order in sent_orders(self._desk.state):
            if order.state is OrderState.WORKING and order.id not in open_references:
                await self._trading.close(order.id)
                return True
            if unsettled(order, self._desk.executions(order.id)):
                await self._trading.book_fills(order.id)
                return True
        return False

    async def observe(self, run_id: str | None, k: int) -> None:
        """The observation that a run or, without one, the close step lacks."""
        state, broker = self._desk.state, self._desk.broker
        if run_id is None:
            seen = self._desk.in_step(await broker.observe(decisions.watch_names(state)))
            await self._desk.append(decisions.watch_observed(self._desk.state, seen))
            return
        run = self._desk.run(run_id)
        names, draft = (
            (decisions.run_names, decisions.run_observed) if k == 1 else (decisions.verdict_names, decisions.verdict_observed)
        )
        seen = self._desk.in_step(await broker.observe(names(state, run)))
        await self._desk.append(draft(self._desk.state, run, seen))

    async def _picture(self) -> Picture:
        """The whole account; every part has its end marker or the question fails."""
        broker, desk = self._desk.broker, self._desk
        account = desk.in_step(await broker.account())
        positions = desk.in_step(await broker.positions())
        open_orders = desk.in_step(await broker.orders(open_only=True))
        await desk.sweep()
        return Picture(account.name, account.cash, positions, open_orders, desk.executions())
