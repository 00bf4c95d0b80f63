"""Looks at the account and the market, and says what it saw: reconciliation before each run and after each gap, observations."""

from collections.abc import Mapping
from decimal import Decimal

import structlog

from services.executor import decisions
from services.executor.broker import BrokerOrder, Observation
from services.executor.desk import Desk, OutOfStep
from services.executor.fills import unsettled
from services.executor.reconcile import Picture, reconcile, sent_orders
from services.executor.trading import Trading
from shared.ledger.owed import Owed
from shared.ledger.periods import exchange_day_of
from shared.ledger.state import LIQUIDATION, OrderState, State
from shared.protocol.events import AccountReconciled, ReconciliationFailed
from shared.protocol.money import ZERO


class Alarms:
    """Says in the log of this process, once an exchange day each, that cash is in no book or that money is owed."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._said: dict[str, str] = {}
        self._log = structlog.get_logger()

    def raised_by(self, state: State, result: AccountReconciled | ReconciliationFailed) -> None:
        """What a look at the account gives reason to say."""
        day = exchange_day_of(state.now) if state.now else ""
        unattributed = result.unattributed if isinstance(result, AccountReconciled) else {}
        owed = {currency: -amount for currency, amount in (result.cash or {}).items() if amount < ZERO}
        self._say(day, "cash is in no book", unattributed)
        self._say(day, "the account owes money", owed)

    def _say(self, day: str, what: str, amounts: Mapping[str, Decimal]) -> None:
        if amounts and self._said.get(what) != day:
            self._said[what] = day
            self._log.warning(what, alarm=True, amounts={name: str(amount) for name, amount in amounts.items()})


class AccountWatch:
    """The account of one desk."""

    def __init__(self, desk: Desk, trading: Trading) -> None:
        """Watch for `desk`; what ended unnoticed is closed by `trading`."""
        self._desk, self._trading = desk, trading
        self._alarms = Alarms()

    async def reconcile(self, item: Owed) -> None:
        """Before a run, at a watch or after a pending order's end: book what the log lacks, one order at a time, then compare."""
        picture = await self._picture()
        if picture.open_orders is not None and picture.executions is not None and await self._book_unnoticed(picture.open_orders):
            return
        state = self._desk.state
        result = reconcile(state, picture)
        self._alarms.raised_by(state, result)
        if item.run is not None:
            await self._desk.append(decisions.reconciled(state, self._desk.run(item.run), result))
        elif decisions.is_of_step(state, item):
            await self._desk.append(decisions.watch_reconciled(state, result))
        else:
            await self._desk.append(decisions.looked_again(state, item.about, result))

    async def difference(self) -> ReconciliationFailed | None:
        """At start and after a gap: what differs, None if nothing does or a reconciliation has said so before.

        Executions that are not booked yet count as booked: they are work to do, in its order.
        """
        result = reconcile(self._desk.state, await self._picture())
        return result if isinstance(result, ReconciliationFailed) and not self._desk.state.account.failed else None

    async def _book_unnoticed(self, open_orders: tuple[BrokerOrder, ...]) -> bool:
        """Book the first order that was filled or ended without our noticing; False if there is none."""
        open_references = frozenset(order.reference for order in open_orders)
        for order in sent_orders(self._desk.state):
            if order.state is OrderState.WORKING and order.id not in open_references:
                await self._trading.close(order.id)
                return True
            if unsettled(order, self._desk.executions(order.id)):
                await self._trading.book_fills(order.id)
                return True
        return False

    async def observe(self, item: Owed) -> None:
        """The observation that a run or, without one, a watch or close step lacks; or the one with which a run is caused."""
        state = self._desk.state
        if item.run is None:
            seen = await self._seen(decisions.watch_names(state))
            await self._desk.append(decisions.watch_observed(self._desk.state, seen))
        elif item.run not in state.runs:
            await self._cause(item)
        elif item.k == 1:
            seen = await self._seen(decisions.run_names(state, self._desk.run(item.run)))
            await self._desk.append(decisions.run_observed(self._desk.state, self._desk.run(item.run), seen))
        else:
            seen = await self._seen(decisions.verdict_names(state, self._desk.run(item.run)))
            await self._desk.append(decisions.verdict_observed(self._desk.state, self._desk.run(item.run), seen))

    async def _cause(self, item: Owed) -> None:
        """Begin a run that the desk causes; a liquidation is capped at what the broker holds at that time."""
        state = self._desk.state
        seen = await self._seen(decisions.caused_names(state, item))
        found = None
        if decisions.kind_of(item) == LIQUIDATION:
            positions = self._desk.known(await self._desk.broker.positions())
            held = sorted(state.books[item.book].holdings)
            found = None if positions is None else {key: positions.get(key, ZERO) for key in held}
        if self._desk.state is not state:
            raise OutOfStep(f"the log went on while {item.about} was looked into")
        await self._desk.append(decisions.caused_observed(state, item, seen, found))

    async def _seen(self, names: tuple[str, ...]) -> Observation:
        """What the market shows of some instruments at desk time."""
        return self._desk.in_step(await self._desk.broker.observe(names))

    async def _picture(self) -> Picture:
        """The whole account; a part whose end marker did not come is unknown."""
        broker, desk = self._desk.broker, self._desk
        account = desk.known(await broker.account())
        positions = desk.known(await broker.positions())
        open_orders = desk.known(await broker.orders(open_only=True))
        executions = desk.executions() if await desk.try_sweep() else None
        rates = (await self._seen(())).fx
        if account is None:
            return Picture(None, None, positions, open_orders, executions, rates)
        return Picture(account.name, account.cash, positions, open_orders, executions, rates, account.net_liquidation)
