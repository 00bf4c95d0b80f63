"""`file`: decisions written down beforehand, JSON lines `{"date", "orders"}`; a date that is not listed is a hold."""

import json
from typing import Annotated, Final

import msgspec

from services.agent.sources.errors import SourceError
from services.agent.sources.port import NOT_NUMBERS, Proposal, RunView, held, is_stable
from shared.protocol.instants import Day, parse_day
from shared.protocol.market import MAX_SYMBOL_CHARS, ProposedOrder
from shared.protocol.money import parse_number, plain

MAX_REASON_CHARS: Final = 500
MAX_MESSAGE_CHARS: Final = 400
SHAPE: Final = (
    "a line is an object of date and orders; an order has symbol, currency, side, quantity, limit, "
    "and may have reason, exchange, confidence"
)

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SYMBOL_CHARS)]


class Number:
    """A number as the file has it: canonical decimal text, `NaN`, `Infinity` or `-Infinity`."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        """Read a number's text exactly; raises `NumberError`."""
        self.text = text if text in NOT_NUMBERS else plain(parse_number(text))


class _Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One order of a line; what is absent stays absent for the gate to judge."""

    symbol: _Name
    currency: _Name
    side: _Name
    quantity: Number | None = None
    limit: Number | None = None
    reason: Annotated[str, msgspec.Meta(max_length=MAX_REASON_CHARS)] = ""
    exchange: _Name | None = None
    confidence: Number | None = None


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the file."""

    date: Day
    orders: tuple[_Order, ...]


class _JsonNumber:
    """A JSON number, kept as the text that stands in the file."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        """Keep the text."""
        self.text = text


class Decisions(msgspec.Struct, frozen=True):
    """Orders by date, as the file lists them."""

    by_date: dict[Day, tuple[ProposedOrder, ...]]

    def history_needed(self, view: RunView) -> int:
        """None."""
        return 0

    def propose(self, view: RunView) -> Proposal:
        """The orders listed for the session; none listed is a hold."""
        orders = self.by_date.get(view.session)
        if orders is None:
            return held(f"nothing is listed for {view.session}")
        return Proposal(orders, f"{len(orders)} orders listed for {view.session}")


def parse_decisions(file: str, text: str) -> Decisions:
    """Read decisions from the text of `file`; raises `SourceError` with file and line.

    Blank lines and CRLF are accepted. Refused: no line at all, what is no JSON object, unknown or repeated keys, wrong types, a
    date that does not exist or is listed twice, number text that is no number.
    """
    by_date: dict[Day, tuple[ProposedOrder, ...]] = {}
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            line = _parse_line(raw)
            if line.date in by_date:
                raise ValueError(f"{line.date} is listed twice: put all its orders on one line")
            by_date[line.date] = tuple(_proposed(order) for order in line.orders)
        except RecursionError as error:
            raise SourceError(f"lists and objects stand too deep in one another; {SHAPE}", file, number) from error
        except ValueError as error:
            raise SourceError(str(error)[:MAX_MESSAGE_CHARS], file, number) from error
    if not by_date:
        raise SourceError(
            'no decision in it; write lines like {"date": "2022-10-03", "orders": []}, or use the source hold', file
        )
    return Decisions(by_date)


def _parse_line(raw: str) -> _Line:
    """Decode one line strictly; raises `ValueError` that says where it differs."""
    try:
        found = json.loads(
            raw, object_pairs_hook=_unique, parse_float=_JsonNumber, parse_int=_JsonNumber, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON, at column {error.colno}: {error.msg}") from error
    try:
        line = msgspec.convert(found, _Line, dec_hook=_read_number)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}; {SHAPE}") from error
    parse_day(line.date)
    return line


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object's pairs; a repeated key is an error, not the last one's victory."""
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise ValueError(f"the key {repeated[:MAX_SYMBOL_CHARS]!r} stands twice in one object")
    return found


def _refuse_constant(name: str) -> object:
    """`NaN` and the like are texts here, because JSON has no such numbers."""
    raise ValueError(f'{name} is no JSON: write it as text, "{name}"')


def _read_number(kind: type, value: object) -> object:
    """Make a `Number` of text or of a JSON number."""
    text = value.text if isinstance(value, _JsonNumber) else value
    if kind is not Number or not isinstance(text, str):
        raise ValueError(f"expected a number or its text, got {type(value).__name__}")
    return Number(text)


def _proposed(order: _Order) -> ProposedOrder:
    """The order as a proposal carries it; raises `ValueError` for names that would change on their way into the log."""
    for text in (order.symbol, order.currency, order.side, order.exchange or ""):
        if not is_stable(text):
            raise ValueError(f"{text!a} holds control characters or is not in normal form (NFC)")
    if order.confidence is not None and not _is_share(order.confidence.text):
        raise ValueError(f"confidence {order.confidence.text} is not within 0 and 1")
    return ProposedOrder(
        symbol=order.symbol,
        currency=order.currency,
        side=order.side,
        quantity=_text(order.quantity),
        limit=_text(order.limit),
        reason=order.reason,
        exchange=order.exchange,
        confidence=_text(order.confidence),
    )


def _text(number: Number | None) -> str | None:
    """The number's text, None if it is absent."""
    return None if number is None else number.text


def _is_share(text: str) -> bool:
    """Whether a number is within 0 and 1."""
    return text not in NOT_NUMBERS and 0 <= parse_number(text) <= 1
