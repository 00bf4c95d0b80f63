"""`Broker` on TWS or IB Gateway through `ib_async`: one object of the library per connection, orders sent once or not at all."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from ib_async import Contract, Fill, LimitOrder, Trade

from services.executor.broker import Account, BrokerLost, BrokerOrder, BrokerRefused, Complete, Execution, History, Observation
from services.executor.ibkr import market, orders_seen
from services.executor.ibkr.connection import Link, Target, open_until
from services.executor.ibkr.contracts import SMART, Contracts
from services.executor.ibkr.histories import Histories
from services.executor.ibkr.numbers import positive
from services.executor.ibkr.safety import PREFIXES, BrokerUnsafe, Mode
from shared.protocol.instants import Instant, parse, to_text
from shared.protocol.market import Order, Quote, QuoteKind, instrument_key, split_key
from shared.protocol.money import ZERO, Exact

T = TypeVar("T")

WAIT_POLL_S: Final = 0.005
COMMISSION_POLL_S: Final = 0.2
COMMISSION_S: Final = 60.0
STEADY_TRIES: Final = 5


class IbkrBroker:
    """The account behind one gateway. `order_floor`: no order id at or below it is ever used."""

    def __init__(self, target: Callable[[], Target], order_floor: int = 0, commission_s: float = COMMISSION_S) -> None:
        """Nothing is connected before the first request; `target` is asked before each connection."""
        self._target, self._floor, self._commission_s = target, order_floor, commission_s
        self._link: Link | None = None
        self._contracts: Contracts | None = None
        self._histories: Histories | None = None
        self._opening, self._sending = asyncio.Lock(), asyncio.Lock()
        self._count = 0
        self._clock: Instant | None = None
        self._numbers: dict[str, int] = {}
        self._quoted: dict[str, Quote | None] = {}
        self._quoted_at: tuple[Instant, int] | None = None

    @property
    def connection(self) -> int:
        """Which connection is in use, counted from 1."""
        return self._count

    @property
    def known_clock(self) -> Instant | None:
        """The newest time named on the connection that is open."""
        return self._clock if self._link is not None and self._link.is_open else None

    async def renew(self) -> None:
        """Close the connection and open another; the old one is read to its end before the id is free."""
        await self.close()
        await self._connected()

    async def close(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()
        self._clock = None

    async def clock(self) -> Instant | None:
        """The gateway's time, in whole seconds as its protocol has it."""
        link = await self._connected()
        now = await link.ask(link.ib.reqCurrentTimeAsync, "clock")
        self._clock = to_text(datetime.fromtimestamp(now.timestamp(), UTC))
        return self._clock

    async def wait(self, to: Instant) -> Instant:
        """Wait for the gateway's time, without end."""
        while True:
            now = await self.clock()
            if now is not None and now >= to:
                return now
            await asyncio.sleep(WAIT_POLL_S)

    async def sync(self) -> None:
        """Everything before on this connection is dealt with: the gateway answers in order."""
        await self.clock()

    async def observe(self, keys: tuple[str, ...]) -> Complete[Observation]:
        """Quotes with at least one price, ticks at the last price or else the close, rates, and the session of SMART."""
        return await self._steady(lambda: self._observe(keys))

    async def history(self, symbols: tuple[str, ...], currency: str, count: int) -> Complete[History]:
        """Bars of the symbols that the broker knows in `currency`."""
        return await self._steady(lambda: self._history(symbols, currency, count))

    async def place(self, reference: str, order: Order, connection: int) -> None:
        """Send a DAY limit order once, on that connection or not at all; raises `BrokerError` with nothing sent."""
        if self._link is None or self._contracts is None or connection != self._count:
            raise BrokerLost(f"{reference}: connection {connection} ended before the order was sent")
        link, contracts = self._link, self._contracts
        if self._target().read_only:
            raise BrokerRefused("read_only", f"{reference}: this connection only reads: nothing is sent")
        found = await contracts.share(order.key)
        if found is None:
            raise BrokerRefused("unknown_contract", f"{order.key} is not one instrument at the broker")
        async with self._sending:
            if link is not self._link or not link.is_open or link.lost is not None:
                raise BrokerLost(f"{reference}: connection {connection} ended before the order was sent")
            self._check_account(link)
            sent = LimitOrder(
                str(order.side), int(order.quantity), float(order.limit), tif="DAY", account=link.account, orderRef=reference,
                outsideRth=False, orderId=max(link.ib.client.getReqId(), self._floor + 1),
            )  # fmt: skip
            self._floor = sent.orderId
            link.ib.client.updateReqId(sent.orderId + 1)  # type: ignore[no-untyped-call]
            link.ib.placeOrder(found.contract, sent)

    async def cancel(self, permanent_id: str) -> None:
        """Ask for an order's end; of one that has ended, or that another client placed, nothing is sent."""
        link = await self._connected()
        for trade in await link.ask(link.ib.reqOpenOrdersAsync, "open orders"):
            if str(trade.order.permId) == permanent_id and trade.order.clientId == self._target().client_id:
                link.ib.cancelOrder(trade.order)
        await self.sync()

    async def orders(self, reference: str | None = None, *, open_only: bool = False) -> Complete[tuple[BrokerOrder, ...]]:
        """Orders of today by permanent id, those of every client."""
        return await self._steady(lambda: self._orders(reference, open_only=open_only))

    async def executions(self, after: int = 0) -> Complete[tuple[Execution, ...]]:
        """Executions of today, each at its newest revision and with its commission, numbered as they were first seen here."""
        return await self._steady(lambda: self._executions(after))

    async def positions(self) -> Complete[dict[str, Exact]]:
        """Shares by instrument key."""
        link = await self._connected()
        return await self._steady(lambda: self._positions(link))

    async def account(self) -> Complete[Account]:
        """The account's name and its cash per currency; raises `BrokerRefused` while its numbers are not current."""
        return await self._steady(self._account)

    async def _observe(self, keys: tuple[str, ...]) -> Observation:
        """Everything about the market at one time."""
        link = await self._connected()
        contracts, _ = self._known()
        at = self._clock or to_text(datetime.now(UTC))
        # What a stand-in shows is simulated, whatever its protocol calls it.
        kind = QuoteKind.SIM if self._target().stepped else None
        known = {key: found for key in keys if (found := await contracts.share(key)) is not None}
        seen = await self._quotes(link, {key: found.contract for key, found in known.items()}, at, kind)
        prices = {key: next((price for price in _prices(seen.get(key)) if price is not None), None) for key in known}
        ticks = {key: tick for key, found in known.items() if (tick := found.tick(prices[key] or ZERO)) is not None}
        usual = next(iter(known.values()), None) or await contracts.reference()
        session = None if usual is None else usual.session(parse(at))
        quotes = [seen[key] for key in sorted(seen) if prices[key] is not None]
        rates = await self._rates({split_key(key)[1] for key in keys}, link, contracts, at)
        return Observation(tuple(quotes), ticks, rates, {} if session is None else {SMART: session})

    async def _quotes(self, link: Link, wanted: dict[str, Contract], at: Instant, kind: QuoteKind | None) -> dict[str, Quote]:
        """Quotes at a time. In a stepped run the market stands still between two steps: nothing is asked for twice."""
        if not self._target().stepped:
            return await market.quotes(link, wanted, at, kind)
        if self._quoted_at != (at, self._count):
            self._quoted_at, self._quoted = (at, self._count), {}
        missing = {key: contract for key, contract in wanted.items() if key not in self._quoted}
        found = await market.quotes(link, missing, at, kind)
        self._quoted.update({key: found.get(key) for key in missing})
        return {key: quote for key in wanted if (quote := self._quoted[key]) is not None}

    async def _rates(self, wanted: set[str], link: Link, contracts: Contracts, at: Instant) -> dict[str, Exact]:
        """Base units per unit: the account's own rates, else the middle of the pair's quote; what is not known is left out."""
        base = orders_seen.base_currency(link.ib.accountValues(link.account))
        if base is None:
            return {}
        rates = orders_seen.by_currency(link.ib.accountValues(link.account), "ExchangeRate")
        for currency in sorted(wanted - set(rates)):
            pair = await contracts.pair(currency, base)
            seen = None if pair is None else await market.quote(link, pair, instrument_key(currency, base), at)
            if seen is not None and (rate := market.middle(seen)) is not None:
                rates[currency] = rate
        return dict(sorted(rates.items()))

    async def _history(self, symbols: tuple[str, ...], currency: str, count: int) -> History:
        """Bars by symbol, and the running session."""
        await self._connected()
        contracts, histories = self._known()
        running, found = None, {}
        for symbol in symbols:
            key = instrument_key(symbol, currency)
            qualified = await contracts.share(key)
            if qualified is None:
                continue
            session = qualified.session(parse(self._clock)) if self._clock is not None else None
            running = session.day if session is not None else running
            unfinished = session.day if session is not None and session.open else None
            found[symbol] = await histories.last(key, qualified, count, unfinished, running)
        return History(running, found)

    async def _orders(self, reference: str | None, *, open_only: bool) -> tuple[BrokerOrder, ...]:
        """All lists put together; the executions say how much of each order is filled."""
        link = await self._connected()
        filled = _filled(orders_seen.newest(await self._fills(link)))
        opened: list[Trade] = await link.ask(link.ib.reqAllOpenOrdersAsync, "all open orders")
        found = {trade.order.permId: orders_seen.open_order(trade, filled.get(trade.order.permId, ZERO)) for trade in opened}
        if not open_only:
            ended: list[Trade] = await link.ask(lambda: link.ib.reqCompletedOrdersAsync(False), "completed orders")
            for trade in ended:
                found[trade.order.permId] = orders_seen.ended_order(
                    trade, filled.get(trade.order.permId, ZERO), link.ended.get(trade.order.permId, "")
                )
        kept = (order for _, order in sorted(found.items()) if reference is None or order.reference == reference)
        return tuple(order for order in kept if order.reference or reference is None)

    async def _executions(self, after: int) -> tuple[Execution, ...]:
        """Today's executions with their commissions."""
        link = await self._connected()
        base = orders_seen.base_currency(link.ib.accountValues(link.account)) or ""
        found = []
        for fill in await self._paid(link):
            number = self._numbers.setdefault(fill.execution.execId.rpartition(".")[0], len(self._numbers) + 1)
            if number > after:
                found.append(orders_seen.execution(fill, number, base))
        return tuple(sorted(found, key=lambda execution: execution.number))

    async def _paid(self, link: Link) -> list[Fill]:
        """The newest executions once each has its commission; raises `BrokerLost` when one does not come."""
        deadline = asyncio.get_running_loop().time() + self._commission_s
        while True:
            fills = orders_seen.newest(await self._fills(link))
            missing = [fill for fill in fills if not orders_seen.has_commission(fill)]
            if not missing:
                return fills
            if asyncio.get_running_loop().time() >= deadline:
                raise BrokerLost(f"the commission of execution {missing[0].execution.execId} has not come")
            await asyncio.sleep(COMMISSION_POLL_S)

    async def _fills(self, link: Link) -> list[Fill]:
        """Executions of today: asked for, then read where the library keeps them with their commissions."""
        await link.ask(link.ib.reqExecutionsAsync, "executions")
        return list(link.ib.fills())

    async def _positions(self, link: Link) -> dict[str, Exact]:
        """Holdings up to their end marker."""
        return orders_seen.positions(await link.ask(link.ib.reqPositionsAsync, "positions"))

    async def _account(self) -> Account:
        """Values of the account, after everything that was under way."""
        link = await self._connected()
        await self.sync()
        values = link.ib.accountValues(link.account)
        if not orders_seen.is_ready(values):
            raise BrokerRefused("not_ready", f"the numbers of account {link.account} are not current: the broker says so")
        return Account(link.account, orders_seen.by_currency(values, "CashBalance"))

    def _check_account(self, link: Link) -> None:
        """Once more before every order; raises `BrokerUnsafe`."""
        accounts = link.ib.managedAccounts()
        if accounts != [link.account] or not link.account.startswith(PREFIXES[Mode(self._target().wanted.mode)]):
            raise BrokerUnsafe(f"the accounts are {', '.join(accounts)} and the order is for {link.account}: nothing is sent")

    async def _steady(self, read: Callable[[], Awaitable[T]]) -> Complete[T]:
        """An answer and the one time at which it was given; asked again when time moved meanwhile in a stepped run."""
        for _ in range(STEADY_TRIES):
            before = self.known_clock or await self.clock()
            if self._link is not None:
                self._link.clock = None
            value = await read()
            after = await self._time_after()
            if before == after or not self._target().stepped:
                break
        return Complete(value, after)

    async def _time_after(self) -> Instant | None:
        """The time right behind the last answer: known with it, else asked for."""
        told = self._link.clock if self._link is not None and self._link.is_open else None
        if told is None:
            return await self.clock()
        self._clock = to_text(told)
        return self._clock

    def _known(self) -> tuple[Contracts, Histories]:
        """Instruments and bars of the connection."""
        if self._contracts is None or self._histories is None:
            raise BrokerLost("nothing is connected")
        self._contracts.at(self._clock or "")
        return self._contracts, self._histories

    async def _connected(self) -> Link:
        """The open connection; tries without end to make one. Raises `BrokerUnsafe`."""
        async with self._opening:
            if self._link is None or not self._link.is_open:
                self._clock = None
                self._link = await open_until(self._target)
                self._contracts, self._histories = Contracts(self._link), Histories(self._link)
                self._count += 1
            return self._link


def _prices(seen: Quote | None) -> tuple[Exact | None, ...]:
    """The prices of a quote, the one that says most of the present first."""
    return () if seen is None else (seen.last, seen.bid, seen.ask, seen.close)


def _filled(fills: list[Fill]) -> dict[int, Exact]:
    """Shares executed by permanent id."""
    found: dict[int, Exact] = {}
    for fill in fills:
        shares = positive(fill.execution.shares) or ZERO
        found[fill.execution.permId] = Exact(found.get(fill.execution.permId, ZERO) + shares)
    return found
