"""How a rule says why."""

from decimal import Decimal

from services.gate.numbers import amount
from shared.protocol.events import Reason
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule


def reason(
    rule: Rule, message: str, limit: Decimal | None = None, value: Decimal | None = None, headroom: Decimal | None = None
) -> Reason:
    """A reason whose numbers are as events hold them; None where a rule has no number or it is unknown."""
    return Reason(rule, _number(limit), _number(value), _number(headroom), message)


def count_reason(rule: Rule, message: str, limit: int, value: int, headroom: int) -> Reason:
    """A reason of a rule that counts."""
    return reason(rule, message, Decimal(limit), Decimal(value), Decimal(headroom))


def shown(text: str) -> str:
    """Foreign text inside a message, quoted and cut."""
    return repr(text[:32])


def _number(value: Decimal | None) -> Exact | None:
    return None if value is None else amount(value)
