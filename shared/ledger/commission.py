"""What an order is expected to cost."""

from decimal import Decimal

from shared.protocol.money import Exact, wide_context
from shared.protocol.policy import Commission

_HUNDRED = Decimal(100)


def commission(schedule: Commission | None, quantity: Decimal, limit: Decimal) -> Exact | None:
    """The fee of `quantity` shares at `limit`, in the schedule's currency; None if there is no schedule.

    clamp(quantity × per_share, minimum, notional × maximum_pct / 100), where the maximum wins over the minimum.
    """
    if schedule is None:
        return None
    with wide_context():
        fee = max(quantity * schedule.per_share, schedule.minimum)
        return Exact(min(fee, quantity * limit * schedule.maximum_pct / _HUNDRED))
