"""The account's other books: what limits over the sum of all books add to what one book has."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

import msgspec

from services.gate.market import Market
from services.gate.numbers import NOTHING
from services.gate.valuation import value_book
from shared.ledger.state import LedgerOrder
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact


class Rest(msgspec.Struct, frozen=True):
    """The other books together: cash in base currency, shares by instrument key, orders approved in the exchange day."""

    cash: Exact = ZERO
    holdings: Mapping[str, Decimal] = {}
    used_day: int = 0


class RestSums(NamedTuple):
    """The other books at one observation, in base currency.

    `value` is None if a holding of theirs has no price or no rate, `exposure` also if an order of theirs at work has no rate;
    `positions` are the shares held and those that their BUYs may still bring.
    """

    value: Decimal | None
    exposure: Decimal | None
    positions: Mapping[str, Decimal]


def sums_of(rest: Rest, working: Iterable[LedgerOrder], market: Market) -> RestSums:
    """The other books with their orders at work. Call it inside exact arithmetic."""
    valuation = value_book(rest.cash, rest.holdings, market)
    exposure: Decimal | None = None if valuation.value is None else valuation.exposure
    positions = dict(rest.holdings)
    for order in working:
        if order.side is not Side.BUY:
            continue
        positions[order.key] = positions.get(order.key, NOTHING) + order.quantity - order.filled
        more = at_most(order, market)
        exposure = None if exposure is None or more is None else exposure + more
    return RestSums(valuation.value, exposure, positions)


def at_most(order: LedgerOrder, market: Market) -> Decimal | None:
    """What a BUY at work may still add to the exposure, at the larger of limit and reference price.

    Its own limit and the rate of its approval stand in where there is no reference price or no rate; None if it has neither rate.
    """
    price = market.price(order.key) or order.limit
    rate = market.rates.get(order.currency, order.fx)
    return (order.quantity - order.filled) * max(order.limit, price) * rate if rate else None
