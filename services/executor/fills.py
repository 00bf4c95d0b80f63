"""From a broker's executions to `FillSettled`: which are not in the log yet, and what each does to cash."""

from collections.abc import Iterable, Mapping

from services.executor.broker import BrokerContradiction, Execution
from shared.ledger.state import LedgerOrder
from shared.protocol.events import FillSettled
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, wide_context


def unsettled(order: LedgerOrder, executions: Iterable[Execution]) -> tuple[Execution, ...]:
    """The executions of `order` that the log lacks, `executions` being all of them in the broker's order.

    They are appended in that order and never skipped, so the log holds a first part of them, whose shares add up to
    `order.filled`. Two equal partial fills are two executions. Raises `BrokerContradiction` if they do not add up.
    """
    own = tuple(execution for execution in executions if execution.reference == order.id)
    settled, count = ZERO, 0
    with wide_context():
        while settled < order.filled and count < len(own):
            settled = Exact(settled + own[count].quantity)
            count += 1
    if settled != order.filled:
        raise BrokerContradiction(f"{order.id}: the log has {order.filled} filled, the broker's executions add up to {settled}")
    return own[count:]


def needs_rate(execution: Execution, base_currency: str) -> bool:
    """Whether booking it takes a rate that the execution itself does not bring."""
    own = execution.currency != base_currency and execution.fx is None
    fee = execution.fee.currency not in {base_currency, execution.currency}
    return own or fee


def fill_settled(order: LedgerOrder, execution: Execution, base_currency: str, rates: Mapping[str, Exact]) -> FillSettled:
    """The fact of one execution; `rates` are base units per unit of a currency, where the execution itself names none.

    Cash effect: BUY −(quantity × price × FX) − fee, SELL +(…) − fee, in base and exact. A fee in another currency is converted
    with that currency's rate. Raises `BrokerContradiction` for a price or quantity that is not above 0, or without a rate.
    """
    _check(order, execution)
    fx = rate(execution.currency, base_currency, rates, execution.fx)
    own_fee = execution.fee.currency == execution.currency
    fee_fx = fx if own_fee else rate(execution.fee.currency, base_currency, rates, None)
    with wide_context():
        gross = execution.quantity * execution.price * fx
        fee = execution.fee.amount * fee_fx
        effect = Exact((gross if execution.side is Side.SELL else -gross) - fee)
    return FillSettled(
        order=order.id,
        execution=execution.id,
        symbol=execution.symbol,
        currency=execution.currency,
        side=execution.side,
        quantity=execution.quantity,
        price=execution.price,
        fee=execution.fee,
        fx=fx,
        cash_effect=effect,
    )


def rate(currency: str, base_currency: str, rates: Mapping[str, Exact], known: Exact | None) -> Exact:
    """Base units per unit of `currency`: 1 for base, `known` if given, else that of `rates`; never guessed."""
    if currency == base_currency:
        return Exact(1)
    found = known if known is not None else rates.get(currency)
    if found is None or found <= 0:
        raise BrokerContradiction(f"no {base_currency} rate for {currency}: a fill in it cannot be booked")
    return found


def _check(order: LedgerOrder, execution: Execution) -> None:
    """Refuse an execution that cannot be one of this order."""
    if execution.price <= 0 or execution.quantity <= 0:
        raise BrokerContradiction(f"{execution.id}: {execution.quantity} shares at {execution.price} are no fill")
    if (execution.key, execution.side) != (order.key, order.side):
        raise BrokerContradiction(f"{execution.id}: {execution.side} {execution.key} is no fill of {order.id}")
