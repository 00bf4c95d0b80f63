"""Is this an order for something that may be traded at all?"""

from services.gate.batch import Batch
from services.gate.candidate import Candidate
from services.gate.rules.reasons import reason, shown
from shared.protocol.events import Reason
from shared.protocol.market import instrument_key
from shared.protocol.policy import Policy
from shared.protocol.reasons import Rule


def side(order: Candidate, batch: Batch) -> Reason | None:
    """BUY or SELL."""
    if order.side is not None:
        return None
    return reason(Rule.SIDE, f"side {shown(order.side_text)} is neither BUY nor SELL")


def instrument(order: Candidate, batch: Batch) -> Reason | None:
    """The instrument is in the universe; what is held may be sold after it left."""
    if order.instrument is not None or order.exits:
        return None
    known = _candidate(order, batch.policy)
    hint = f"; the universe has {known}" if known else ""
    return reason(Rule.INSTRUMENT, f"{shown(order.symbol)} in {shown(order.currency)} is not in the universe{hint}")


def exchange(order: Candidate, batch: Batch) -> Reason | None:
    """An exchange that the order names is the instrument's own."""
    asked, own = order.asked_exchange, order.exchange
    if asked is None or own is None or asked == own or asked.upper() == own.upper():
        return None
    return reason(Rule.EXCHANGE, f"{order.key} trades on {own}, not on {shown(asked)}")


def _candidate(order: Candidate, policy: Policy) -> str | None:
    """The universe's own spelling of a name that differs in case or in the mark of a share class (`BRK.B`, `BRK-B`)."""
    symbol = order.symbol.upper()
    spellings = (symbol, symbol.replace(".", " "), symbol.replace("-", " "), symbol.replace("/", " "))
    keys = (instrument_key(spelling, order.currency.upper()) for spelling in spellings)
    return next((key for key in keys if policy.instrument(key) is not None), None)
