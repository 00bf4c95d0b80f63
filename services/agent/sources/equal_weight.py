"""`equal_weight`: every name of the universe the same share of the book's value, rebalanced monthly."""

from fractions import Fraction

import msgspec

from services.agent.sources.port import Proposal, RunView, held
from services.agent.sources.rebalance import is_rebalance_day, plan_towards, summary_of


class EqualWeight(msgspec.Struct, frozen=True):
    """Value / number of names each, in whole shares; what is held outside the universe is sold."""

    def history_needed(self, view: RunView) -> int:
        """None."""
        return 0

    def propose(self, view: RunView) -> Proposal:
        """Rebalance on the first two sessions of the window and of each month, hold otherwise."""
        if not is_rebalance_day(view.sessions, view.index):
            return held("not one of the first two sessions of the window or of a month")
        if view.value is None or view.value <= 0:
            return held("the book's value is not known, so there are no targets")
        if not view.names:
            return held("the universe is empty")
        share = Fraction(1, len(view.names))
        weights = dict.fromkeys(view.holdings, Fraction(0)) | dict.fromkeys(view.names, share)
        plan = plan_towards(view, view.value, weights)
        return Proposal(plan.orders, summary_of(f"equal weight of {len(view.names)} names", plan))
