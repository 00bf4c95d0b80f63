"""The largest quantity of a blocked order that would pass."""

from collections.abc import Callable, Sequence
from typing import Final

from services.gate.batch import Batch
from services.gate.candidate import Candidate
from services.gate.numbers import NOTHING, ONE, REPORT_STEP
from services.gate.rules.bounds import LARGEST_ORDER, smallest_bound
from services.gate.rules.registry import REGARDLESS_OF_QUANTITY
from shared.protocol.events import Reason
from shared.protocol.money import ZERO, Exact
from shared.protocol.reasons import Rule

Judge = Callable[[Candidate, Batch], Sequence[Reason]]

_DUPLICATE_ALONE: Final = (Rule.DUPLICATE,)


def largest_passing(order: Candidate, batch: Batch, why: Sequence[Reason], judge: Judge) -> Exact:
    """The smallest bound of the rules monotone in quantity, tested: 0 if any other rule fails there.

    One less where `duplicate` alone fails, and again one less for each further order at work with just that quantity.
    """
    if any(reason.rule in REGARDLESS_OF_QUANTITY for reason in why):
        return ZERO
    step = REPORT_STEP if batch.limits.allow_fractional else ONE
    quantity = min(smallest_bound(order, batch), LARGEST_ORDER)
    for _ in range(len(batch.own_orders(order.key)) + 1):
        if quantity <= NOTHING:
            return ZERO
        failed = tuple(reason.rule for reason in judge(order.resized(quantity), batch))
        if not failed:
            return Exact(quantity)
        if failed != _DUPLICATE_ALONE:
            return ZERO
        quantity -= step
    return ZERO
