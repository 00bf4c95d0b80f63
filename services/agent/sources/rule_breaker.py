"""`rule_breaker`: one order a session that the gate must block, so that the gate is seen at work."""

from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Final

import msgspec

from services.agent.sources.port import Proposal, RunView, held, symbol_order
from services.agent.sources.rebalance import TICK, order, price_in_base
from shared.protocol.market import ProposedOrder, Side, instrument_key, split_key
from shared.protocol.money import Exact, tick_down, wide_context

UNKNOWN_SYMBOL: Final = "ZZZZ"
UNKNOWN_LIMIT: Final = Exact(10)
FAR: Final = Decimal("1.10")
LARGE: Final = Fraction(6, 10)
CYCLE: Final = 6


class RuleBreaker(msgspec.Struct, frozen=True):
    """Cycles by session index: an unknown name, a far limit, a large position, a fraction, no shares, a short sale."""

    def history_needed(self, view: RunView) -> int:
        """None."""
        return 0

    def propose(self, view: RunView) -> Proposal:
        """One order on the alphabetically first name; nothing where a number that it needs is unknown."""
        if not view.names:
            return held("the universe is empty")
        first = min(view.names, key=symbol_order)
        made = _outside(first) if view.index % CYCLE == 0 else _on_known_price(view, first)
        return held(f"{first}: its price or the book's value is not known") if made is None else Proposal((made,), made.reason)


def _outside(first: str) -> ProposedOrder:
    """A name that no universe holds, in the first name's currency."""
    key = instrument_key(UNKNOWN_SYMBOL, split_key(first)[1])
    return order(key, Side.BUY, "1", UNKNOWN_LIMIT, "breaks a rule on purpose: a name outside the universe")


def _on_known_price(view: RunView, first: str) -> ProposedOrder | None:
    """The orders of the cycle that need the reference price of a name."""
    turn = view.index % CYCLE
    name = first if turn != CYCLE - 1 else _not_held(view)
    reference = None if name is None else view.references.get(name)
    if name is None or reference is None:
        return None
    match turn:
        case 1:
            with wide_context():
                limit = tick_down(reference * FAR, TICK)
            return order(name, Side.BUY, "1", limit, "breaks a rule on purpose: a limit 10 % over the reference")
        case 2:
            return _large(view, name, reference)
        case 3:
            return order(name, Side.BUY, "1.5", reference, "breaks a rule on purpose: a fraction of a share")
        case 4:
            return order(name, Side.BUY, "0", reference, "breaks a rule on purpose: no shares")
        case _:
            return order(name, Side.SELL, "1", reference, "breaks a rule on purpose: a share that is not held")


def _large(view: RunView, name: str, reference: Exact) -> ProposedOrder | None:
    """60 % of the book's value in one name."""
    price = price_in_base(view, name)
    if view.value is None or price is None:
        return None
    shares = floor(LARGE * Fraction(view.value) / price)
    return order(name, Side.BUY, str(shares), reference, "breaks a rule on purpose: 60 % of the value in one name")


def _not_held(view: RunView) -> str | None:
    """The alphabetically first name of which the book holds nothing."""
    return min((key for key in view.names if not view.held(key)), key=symbol_order, default=None)
