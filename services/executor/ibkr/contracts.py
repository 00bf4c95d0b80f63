"""Instruments at the broker: qualified for SMART, with price steps and hours; kept for the life of a connection."""

from datetime import datetime
from decimal import Decimal
from typing import Final

import msgspec
from ib_async import Contract, ContractDetails, Forex, Stock

from services.executor.broker import BrokerLost, BrokerRefused
from services.executor.ibkr.connection import Link
from services.executor.ibkr.hours import HoursError, current, rule_of, sessions, tick_at
from services.executor.ibkr.numbers import amount, positive
from shared.protocol.instants import Instant, TimeError
from shared.protocol.market import ExchangeSession, split_key
from shared.protocol.money import Exact

SMART: Final = "SMART"
NO_DEFINITION: Final = "200"
RULE_TRIES: Final = 3
DAY_CHARS: Final = len("YYYY-MM-DD")
REFERENCE: Final = "reference"
REFERENCE_ID: Final = 756733
"""SPY, which IBKR lists under this id and which trades whenever the New York exchanges do."""
Rule = tuple[tuple[Decimal, Decimal], ...]


class Qualified(msgspec.Struct, frozen=True):
    """One instrument. `rule` None: the price steps are not known, and no order may be priced. `hours`: day, open, close."""

    contract: Contract
    rule: Rule | None
    hours: tuple[tuple[str, datetime, datetime], ...]
    magnifier: int

    def tick(self, price: Decimal) -> Exact | None:
        """The price step at a price; None where it is not known, or where displayed prices are no money (pence)."""
        return tick_at(self.rule, price) if self.rule is not None and self.magnifier == 1 else None

    def covers(self, day: str) -> bool:
        """Whether the hours of a day are told, and of at least one after it; a pair's are not needed."""
        return self.contract.secType == "CASH" or any(known > day for known, _, _ in self.hours)

    def session(self, now: datetime) -> ExchangeSession | None:
        """The exchange's session at a time."""
        return current(self.hours, now)


class Contracts:
    """Looks instruments up again when their hours run out, where time is real each day; unknown and ambiguous ones are None."""

    def __init__(self, link: Link) -> None:
        """Nothing is known yet."""
        self._link = link
        self._found: dict[str, Qualified | None] = {}
        self._rules: dict[int, Rule] = {}
        self._day = ""

    def at(self, now: Instant) -> None:
        """Forget what is out of date at a time; a stand-in's hours do not change from day to day."""
        day = now[:DAY_CHARS]
        if day == self._day:
            return
        self._day = day
        if self._link.stepped:
            self._found = {key: found for key, found in self._found.items() if found is not None and found.covers(day)}
        else:
            self._found.clear()

    async def share(self, key: str) -> Qualified | None:
        """`SYMBOL:CURRENCY` routed by SMART; raises `BrokerLost`, `BrokerRefused`."""
        if key not in self._found:
            symbol, currency = split_key(key)
            self._found[key] = await self._qualify(Stock(symbol, SMART, currency))
        return self._found[key]

    async def reference(self) -> Qualified | None:
        """An instrument whose hours are those of SMART, for when none is asked for: known everywhere by its id."""
        if REFERENCE not in self._found:
            self._found[REFERENCE] = await self._qualify(Contract(conId=REFERENCE_ID, exchange=SMART))
        return self._found[REFERENCE]

    async def pair(self, currency: str, base: str) -> Contract | None:
        """A currency in units of another one; None where the broker has no such pair that way round."""
        key = f"{currency}.{base}"
        if key not in self._found:
            self._found[key] = await self._qualify(Forex(currency + base))
        found = self._found[key]
        return found.contract if found is not None else None

    async def _qualify(self, asked: Contract) -> Qualified | None:
        """The one instrument that fits, with its price steps and hours."""
        try:
            details = await self._link.ask(
                lambda: self._link.ib.reqContractDetailsAsync(asked), f"contract {asked.symbol or asked.conId}"
            )
        except BrokerRefused as error:
            if error.code == NO_DEFINITION:
                return None
            raise
        if len(details) != 1 or details[0].contract is None:
            return None
        (found,) = details
        contract = details[0].contract
        contract.exchange = asked.exchange
        return Qualified(contract, await self._rule(found, asked.exchange), _hours(found), found.priceMagnifier)

    async def _rule(self, details: ContractDetails, exchange: str) -> Rule | None:
        """The price steps on an exchange; None if the broker does not tell them."""
        number = rule_of(exchange, details.validExchanges, details.marketRuleIds)
        if number is None:
            return None
        for _ in range(RULE_TRIES):
            if number in self._rules:
                break
            steps = await self._link.ask(lambda: self._link.ib.reqMarketRuleAsync(number), f"market rule {number}")
            read = [(amount(step.lowEdge), positive(step.increment)) for step in steps or ()]
            whole = [(edge, increment) for edge, increment in read if edge is not None and increment is not None]
            if whole and len(whole) == len(read):
                self._rules[number] = tuple(whole)
        return self._rules.get(number)


def _hours(details: ContractDetails) -> tuple[tuple[str, datetime, datetime], ...]:
    """The liquid hours; raises `BrokerLost` where they cannot be read, as nothing is known of the exchange then."""
    try:
        return sessions(details.liquidHours, details.timeZoneId)
    except (HoursError, TimeError) as error:
        raise BrokerLost(f"the trading hours of {details.longName} cannot be read: {error}") from error
