"""A proposed order on its way to a decision: its text read, its evidence looked up, its cost worked out."""

from decimal import Decimal
from typing import Final, NamedTuple

from services.gate.numbers import NOTHING
from shared.ledger.commission import fee_of
from shared.protocol.market import MAX_SYMBOL_CHARS, Instrument, ProposedOrder, Quote, Side, instrument_key
from shared.protocol.money import MAX_NUMBER_CHARS, Exact, NumberError
from shared.protocol.policy import Commission

MAX_DECIMALS: Final = 8
MAX_INTEGER_DIGITS: Final = 9
_TOO_LARGE: Final = Decimal(10) ** MAX_INTEGER_DIGITS
_NO_NUMBER: Final = frozenset({"nan", "snan", "inf", "infinity"})
_STEP: Final = Decimal(1).scaleb(-MAX_DECIMALS)


class Amount(NamedTuple):
    """A number of a proposal: its value, or why it is none. Both None: the proposal does not give it."""

    value: Exact | None
    fault: str | None


_ABSENT: Final = Amount(None, None)


def read_amount(text: str | None) -> Amount:
    """Read a quantity or limit price from a proposal's text.

    At most 9 digits before and 8 after the point, so that every product of a quantity, a price and a rate fits into an event.
    """
    if text is None:
        return _ABSENT
    try:
        value = Exact.read(text)
    except NumberError:
        return _read_other(text)
    return Amount(value, None) if len(text) <= MAX_INTEGER_DIGITS else _bounded(value)


def _read_other(text: str) -> Amount:
    """Read a number that is not in canonical form: `4.0`, `1e2`, `NaN`, or no number at all."""
    if text.strip("+-").lower() in _NO_NUMBER:
        return Amount(None, f"is {text[:MAX_SYMBOL_CHARS]}, not a finite number")
    try:
        value = Exact(text)
    except NumberError:
        return Amount(None, f"{text[:MAX_NUMBER_CHARS]!r} is not a number within bounds")
    return _bounded(value)


def _bounded(value: Exact) -> Amount:
    """`value` with a fault if it has more digits than an order may have."""
    if -_TOO_LARGE < value < _TOO_LARGE and value % _STEP == NOTHING:
        return Amount(value, None)
    return Amount(value, f"{value} has more than {MAX_INTEGER_DIGITS} digits before or {MAX_DECIMALS} after the point")


class Candidate:
    """One proposed order with everything that rules look at.

    `gross` is quantity × limit and `fee` the commission, both in the instrument's currency; `notional` and `commission` the same
    in base currency. Each is None while something that it is made of is unknown.
    """

    __slots__ = (
        "asked_exchange",
        "commission",
        "currency",
        "exchange",
        "fee",
        "fx",
        "gross",
        "held",
        "index",
        "instrument",
        "key",
        "limit",
        "limit_fault",
        "notional",
        "price",
        "quantity",
        "quantity_fault",
        "quote",
        "schedule",
        "side",
        "side_text",
        "symbol",
    )

    def __init__(self, index: int, proposed: ProposedOrder) -> None:
        """Read the proposal's text; evidence is looked up by the batch, which then calls `size`."""
        self.index = index
        self.symbol, self.currency = proposed.symbol, proposed.currency
        self.key = instrument_key(proposed.symbol, proposed.currency)
        self.side_text = proposed.side
        self.side = read_side(proposed.side)
        self.quantity, self.quantity_fault = read_amount(proposed.quantity)
        self.limit, self.limit_fault = read_amount(proposed.limit)
        self.asked_exchange = proposed.exchange
        self.exchange: str | None = None
        self.instrument: Instrument | None = None
        self.held: Decimal = NOTHING
        self.quote: Quote | None = None
        self.price: Decimal | None = None
        self.fx: Exact | None = None
        self.schedule: Commission | None = None
        self.gross: Decimal | None = None
        self.fee: Decimal | None = None
        self.notional: Decimal | None = None
        self.commission: Decimal | None = None

    @property
    def buys(self) -> bool:
        """Whether this is a BUY."""
        return self.side is Side.BUY

    @property
    def exits(self) -> bool:
        """Whether this is a SELL of something held."""
        return self.side is Side.SELL and self.held > NOTHING

    def size(self) -> None:
        """Work out what the order is worth and costs, from quantity, limit, fees and rate."""
        self.gross = self.fee = self.notional = self.commission = None
        quantity, limit = self.quantity, self.limit
        if quantity is None or limit is None or self.quantity_fault or self.limit_fault or not quantity > NOTHING < limit:
            return
        self.gross = gross = quantity * limit
        if self.schedule is not None:
            self.fee = fee_of(self.schedule, quantity, gross)
        if self.fx is not None:
            self.notional = gross * self.fx
            self.commission = None if self.fee is None else self.fee * self.fx

    def resized(self, quantity: Decimal) -> "Candidate":
        """The same order for another quantity."""
        other = Candidate.__new__(Candidate)
        for name in _CARRIED:
            setattr(other, name, getattr(self, name))
        other.quantity, other.quantity_fault = _bounded(Exact(quantity))
        other.size()
        return other


_SIZED: Final = ("quantity", "quantity_fault", "gross", "fee", "notional", "commission")
_CARRIED: Final = tuple(name for name in Candidate.__slots__ if name not in _SIZED)


def read_side(text: str) -> Side | None:
    """BUY or SELL in any case, None for anything else."""
    if text == Side.BUY:
        return Side.BUY
    if text == Side.SELL:
        return Side.SELL
    return Side.__members__.get(text.upper()) if text.isascii() else None
