"""An executor in small: the real ib_async, the hearing and the state machines, in front of a gateway that misbehaves by seed."""

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from ib_async import LimitOrder, Stock

from services.executor.broker import BrokerError
from services.executor.ibkr.booking import split_id
from services.executor.ibkr.connection import Link, Target, open_until
from services.executor.ibkr.following import Follower
from services.executor.ibkr.hearing import Hearing
from services.executor.ibkr.life import Book, Close, Effect, Life
from services.executor.ibkr.safety import Wanted
from services.simulator.tws.books import newest
from services.simulator.tws.faults import FaultError
from shared.protocol.market import Side
from shared.protocol.money import Exact
from tests.support.tws import Desk, until

START = datetime(2022, 10, 4, 14, 30, tzinfo=UTC)
ROUNDS = 40
PLACING: tuple[dict[str, Any], ...] = (
    *({"name": "refuse", "code": code} for code in (110, 203, 321, 200, 31_415)),
    *({"name": "reject", "variant": variant} for variant in "abc"),
    *({"name": "notice", "code": code} for code in (399, 10349)),
    {"name": "notice", "code": 404, "why_held": "locate"},
    {"name": "drop"},
    {"name": "swallow"},
    {"name": "rest"},
    {"name": "twice", "what": "status"},
    {"name": "twice", "what": "execution"},
    *({"name": "commission", "when": when} for when in ("late", "request", "before", "never", "unset")),
)
CANCELLING: tuple[dict[str, Any], ...] = (
    {"name": "cancel_race"},
    {"name": "cancel_race", "quantity": "1"},
    *({"name": "cancel_refused", "code": code} for code in (161, 10147, 10148)),
    {"name": "cancel_silent"},
    {"name": "cancel_twice"},
)


class Play:
    """One desk, one follower, one connection at a time; `now` is moved by the play alone."""

    def __init__(self, desk: Desk, seed: int = 0) -> None:
        self.desk, self.random = desk, random.Random(seed)
        self.now = START
        self.effects: dict[str, list[Effect]] = {}
        self.follower = Follower(lambda: self.now, self._report)
        self.link: Link | None = None
        self.hearing: Hearing | None = None
        self.sides: dict[str, Side] = {}
        self.floor = 0
        self.told: list[str] = []

    def _report(self, reference: str, effect: Effect) -> None:
        self.effects.setdefault(reference, []).append(effect)

    async def connect(self) -> Link:
        """The open connection, else a new one."""
        if self.link is None or not self.link.is_open:
            await until(lambda: not self.desk.gateway.clients)
            target = Target("127.0.0.1", self.desk.port, Wanted("paper", self.desk.port, allow_port=True), stepped=True,
                            connect_s=5, request_s=2, retry_s=0.01)  # fmt: skip
            self.link = await open_until(lambda: target)
            self.hearing = self.follower.attach(self.link)
        return self.link

    async def place(self, reference: str, quantity: int = 10, limit: float = 191.0, side: Side = Side.BUY) -> None:
        """Intent, then one send."""
        link = await self.connect()
        self.sides[reference] = side
        self.follower.follow(Life(reference, Exact(quantity)))
        order_id = max(link.ib.client.getReqId(), self.floor + 1)
        self.floor = order_id
        link.ib.client.updateReqId(order_id + 1)
        sent = LimitOrder(str(side), quantity, limit, tif="DAY", account=link.account, orderRef=reference, orderId=order_id)
        self.follower.sending(reference, order_id)
        link.ib.placeOrder(Stock(conId=265598, symbol="AAPL", exchange="SMART", currency="USD"), sent)

    async def cancel(self, reference: str) -> None:
        """One cancel of an order that the library knows."""
        link = await self.connect()
        for trade in link.ib.openTrades():
            if trade.order.orderRef == reference and trade.order.permId:
                self.follower.cancelling(reference)
                link.ib.cancelOrder(trade.order)
                return

    async def settle(self) -> None:
        """Let everything that was sent be answered."""
        try:
            if self.link is not None and self.link.is_open and not self.desk.gateway.conditions.deaf:
                await self.link.ask(self.link.ib.reqCurrentTimeAsync, "settling")
                return
        except BrokerError:
            pass
        await asyncio.sleep(0.003)

    async def sweep(self) -> None:
        """Sweep if that can be done."""
        if self.desk.gateway.conditions.deaf:
            return
        link = await self.connect()
        await self.settle()
        try:
            await self.follower.sweep(link)
        except BrokerError as error:
            self.told.append(str(error))

    def passes(self, seconds: float) -> None:
        """Time passes."""
        self.now += timedelta(seconds=seconds)
        self.follower.tick()

    def fault(self, **fields: Any) -> None:
        """A fault, unless it cannot be done now."""
        try:
            self.desk.fault(**fields)
        except FaultError as error:
            self.told.append(str(error))

    async def at_random(self) -> None:
        """One thing that can happen."""
        draw = self.random
        known = sorted(self.follower.lives)
        some = draw.choice(known) if known else ""
        match draw.randrange(12):
            case 0 | 1 | 2 if not self.desk.gateway.conditions.deaf:
                reference = f"o{len(known) + 1}"
                for fault in draw.sample(PLACING, draw.choice((0, 1, 1, 2))):
                    self.fault(**fault, ref=reference)
                await self.place(reference, draw.randint(1, 10), draw.choice((150.0, 191.0)))
            case 3 | 4 if known and not self.desk.gateway.conditions.deaf:
                if draw.random() < 0.6:
                    self.fault(**draw.choice(CANCELLING), ref=some)
                await self.cancel(some)
            case 5 | 6 if known:
                self.fault(name="execute", ref=some, quantity=str(draw.randint(1, 4)), price="190", silent=draw.random() < 0.2)
            case 7 if known:
                self.fault(name="revise", ref=some, price=str(draw.randint(180, 195)), silent=draw.random() < 0.2)
            case 8 if known:
                self.fault(name="end_order", ref=some)
            case 9:
                self.fault(**draw.choice(({"name": "lost"}, {"name": "lost", "fills": "never"}, {"name": "restored"})))
            case 10:
                self.fault(**draw.choice(({"name": "abort"}, {"name": "restart", "rollback": 3}, {"name": "release"})))
            case _:
                self.passes(draw.randint(1, 40))
        await self.settle()
        if self.follower.wants_sweep and draw.random() < 0.5:
            await self.sweep()

    async def finish(self) -> None:
        """Everything heals and the session closes; sweep until nothing is open any more."""
        if self.desk.gateway.conditions.lost is not None:
            self.fault(name="restored")
        self.fault(name="release")
        self.desk.close()
        for _ in range(ROUNDS):
            await self.settle()
            await self.sweep()
            self.passes(35)
            if all(life.phase.is_closed for life in self.follower.lives.values()):
                break
        await self.sweep()
        self.passes(200)
        if self.link is not None:
            self.link.close()

    def booked(self) -> dict[str, dict[str, tuple[str, str]]]:
        """Shares and price by reference and execution, each correction in the place of what it corrects."""
        found: dict[str, dict[str, tuple[str, str]]] = {}
        for reference, effects in self.effects.items():
            for effect in effects:
                if isinstance(effect, Book):
                    kept = found.setdefault(reference, {})
                    base = split_id(effect.execution)[0]
                    assert (effect.replaces is not None) == (base in kept), f"{effect.execution} is booked twice"
                    kept[base] = (str(effect.quantity), str(effect.price))
        return found

    def at_broker(self) -> dict[str, dict[str, tuple[str, str]]]:
        """The same as the broker's books have it."""
        found: dict[str, dict[str, tuple[str, str]]] = {}
        for fill in newest(self.desk.broker.executions):
            found.setdefault(fill.ref, {})[split_id(fill.execution)[0]] = (str(fill.quantity), str(fill.price))
        return found

    def check(self) -> None:
        """What must hold at the end of every play."""
        assert self.hearing is None or self.hearing.fault is None
        assert {name: str(life.phase) for name, life in self.follower.lives.items() if not life.phase.is_closed} == {}
        assert self.booked() == self.at_broker()
        sent = Counter(order.ref for order in self.desk.broker.orders.values())
        assert max(sent.values(), default=0) <= 1
        shares = sum(int(quantity) for kept in self.booked().values() for quantity, _ in kept.values())
        assert int(self.desk.broker.state.positions.get("AAPL", Exact(0))) == shares
        for reference, effects in self.effects.items():
            ends = [effect for effect in effects if isinstance(effect, Close)]
            assert len(ends) == 1, f"{reference}: {ends}"
            assert reference in sent or ends[0].end in {"rejected", "unsent"}
