"""`momentum`: the five names that rose most over half a year, rebalanced monthly."""

from fractions import Fraction
from typing import Final, NamedTuple

import msgspec

from services.agent.sources.port import Close, Proposal, RunView, held, symbol_order
from services.agent.sources.rebalance import is_rebalance_day, named, plan_towards, summary_of
from shared.protocol.instants import Day

SPAN: Final = 127
BEST: Final = 5
WEIGHT: Final = Fraction(19, 100)


class _Ranking(NamedTuple):
    """Names from best to worst, and those that cannot be ranked."""

    ranked: tuple[str, ...]
    short: tuple[str, ...]


class Momentum(msgspec.Struct, frozen=True):
    """close[D−1] / close[D−127]; the five best at 19 % each, the rest sold. A name that cannot be ranked stays as it is."""

    def history_needed(self, view: RunView) -> int:
        """The span, on a rebalancing day."""
        return SPAN if is_rebalance_day(view.sessions, view.index) else 0

    def propose(self, view: RunView) -> Proposal:
        """Rebalance on the first two sessions of the window and of each month, hold otherwise or without enough history."""
        if not is_rebalance_day(view.sessions, view.index):
            return held("not one of the first two sessions of the window or of a month")
        if view.value is None or view.value <= 0:
            return held("the book's value is not known, so there are no targets")
        ranking = _rank(view)
        if len(ranking.ranked) < max(1, min(BEST, len(view.names))):
            return held(f"not enough history: {SPAN} closes before {view.session} are needed, missing for {named(ranking.short)}")
        best = ranking.ranked[:BEST]
        rest = dict.fromkeys((*view.holdings, *view.names), Fraction(0))
        weights = {key: weight for key, weight in (rest | dict.fromkeys(best, WEIGHT)).items() if key not in ranking.short}
        plan = plan_towards(view, view.value, weights)
        text = summary_of(f"best of {len(ranking.ranked)}: {', '.join(best)}", plan)
        return Proposal(plan.orders, f"{text}; left alone, no history: {named(ranking.short)}" if ranking.short else text)


def _rank(view: RunView) -> _Ranking:
    """Rank the universe by its growth over the span, ties by symbol.

    The span is counted in sessions in which any name traded, so that a name with a gap is not measured over a longer one.
    """
    days = sorted({close.day for key in view.names for close in view.history.get(key, ())})[-SPAN:]
    growth = {key: _growth(view.history.get(key, ()), days) for key in sorted(view.names, key=symbol_order)}
    known = {key: ratio for key, ratio in growth.items() if ratio is not None}
    return _Ranking(tuple(sorted(known, key=lambda key: -known[key])), tuple(key for key in growth if key not in known))


def _growth(closes: tuple[Close, ...], days: list[Day]) -> Fraction | None:
    """The last close over the first of the span; None if the span is too short or either close is not known."""
    if len(days) < SPAN:
        return None
    prices = {close.day: close.price for close in closes if close.price > 0}
    first, last = prices.get(days[0]), prices.get(days[-1])
    return None if first is None or last is None else Fraction(last) / Fraction(first)
