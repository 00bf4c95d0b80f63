"""What an order is expected to cost."""

from decimal import Decimal

from shared.protocol.money import Exact, wide_context
from shared.protocol.policy import Commission

_ONE_PERCENT = Decimal("0.01")


def commission(schedule: Commission | None, quantity: Decimal, limit: Decimal) -> Exact | None:
    """The fee of `quantity` shares at `limit`, in the schedule's currency; None if there is no schedule.

    clamp(quantity × per_share, minimum, notional × maximum_pct / 100), where the maximum wins over the minimum.
    """
    if schedule is None:
        return None
    with wide_context():
        return Exact(fee_of(schedule, quantity, quantity * limit))


def fee_of(schedule: Commission, quantity: Decimal, gross: Decimal) -> Decimal:
    """The same for an order worth `gross` in the schedule's currency; call it where products are exact."""
    return min(max(quantity * schedule.per_share, schedule.minimum), gross * schedule.maximum_pct * _ONE_PERCENT)
