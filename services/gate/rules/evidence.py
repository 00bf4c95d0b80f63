"""Is everything known that judging this order needs? Unknown is an answer, and it is no."""

from datetime import timedelta
from decimal import Decimal
from typing import Final

from services.gate.batch import Batch
from services.gate.candidate import Candidate
from services.gate.numbers import HUNDRED
from services.gate.rules.reasons import reason
from shared.protocol.events import Reason
from shared.protocol.reasons import Rule

MAX_FUTURE: Final = timedelta(seconds=5)
LEAST_LEFT: Final = timedelta(minutes=15)
_MICROSECOND: Final = timedelta(microseconds=1)


def quote(order: Candidate, batch: Batch) -> Reason | None:
    """There is a reference price."""
    if order.price is not None:
        return None
    found = "there is no quote" if order.quote is None else "its quote gives none"
    return reason(Rule.QUOTE, f"no reference price for {order.key}: {found}")


def quote_age(order: Candidate, batch: Batch) -> Reason | None:
    """The quote is neither too old at the time of judging nor from the future."""
    if order.quote is None:
        return None
    age = batch.market.age(order.quote)
    if -MAX_FUTURE <= age <= batch.max_quote_age:
        return None
    oldest, found = _seconds(batch.max_quote_age), _seconds(age)
    told = f"{found:f} s old, at most {oldest:f} s pass" if age > batch.max_quote_age else f"{-found:f} s from the future"
    return reason(Rule.QUOTE_AGE, f"the quote of {order.key} is {told}", oldest, found)


def quote_kind(order: Candidate, batch: Batch) -> Reason | None:
    """The policy admits quotes of this kind."""
    if order.quote is None or order.quote.kind in batch.limits.quote_kinds:
        return None
    admitted = ", ".join(batch.limits.quote_kinds) or "none"
    return reason(Rule.QUOTE_KIND, f"the quote of {order.key} is of kind {order.quote.kind}; admitted: {admitted}")


def fx(order: Candidate, batch: Batch) -> Reason | None:
    """There is a rate from the order's currency into the base currency."""
    if order.fx is not None:
        return None
    return reason(Rule.FX, f"no rate from {order.currency[:3]} into {batch.policy.base_currency}")


def commission(order: Candidate, batch: Batch) -> Reason | None:
    """What the order will cost is known."""
    if order.fee is not None:
        return None
    return reason(Rule.COMMISSION, f"the commission is unknown: the policy has no schedule for {order.currency[:3]}")


def currency(order: Candidate, batch: Batch) -> Reason | None:
    """With `foreign_currency = "deny"` a BUY is in base currency or one held at the broker."""
    if batch.limits.foreign_currency != "deny" or not order.buys or order.currency == batch.policy.base_currency:
        return None
    held = batch.book.currencies
    if held is not None and order.currency in held:
        return None
    found = "it is not known whether the account holds" if held is None else "the account holds no"
    return reason(Rule.CURRENCY, f"{found} {order.currency[:3]}: the broker would lend it")


def session(order: Candidate, batch: Batch) -> Reason | None:
    """The instrument's own exchange is open for 15 minutes more."""
    exchange = order.exchange
    left = None if exchange is None else batch.market.left(exchange)
    if left is not None and left >= LEAST_LEFT:
        return None
    needed = _seconds(LEAST_LEFT)
    if left is None:
        found = f"{exchange} is closed or not known to be open" if exchange else f"the exchange of {order.key} is not known"
        return reason(Rule.SESSION, found, needed)
    seconds = _seconds(left)
    return reason(Rule.SESSION, f"{exchange} closes in {seconds:f} s, at least {needed:f} s must be left", needed, seconds)


def _seconds(span: timedelta) -> Decimal:
    """A time span in seconds, exact."""
    return Decimal(span // _MICROSECOND) / HUNDRED**3
