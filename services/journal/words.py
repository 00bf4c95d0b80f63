"""Words for what stands in events: decisions, reasons, quotes, numbers. Pure. Foreign text is not made safe here."""

from collections.abc import Iterable
from typing import Final

from shared.protocol.events import Decision, Reason
from shared.protocol.market import Quote
from shared.protocol.money import Exact

UNKNOWN: Final = "unknown"
TIME_CHARS: Final = 19


def decision_words(row: Decision, quote: Quote | None) -> list[str]:
    """One decision with every number behind it."""
    verdict = f"approved as {row.order}" if row.approved else "needs approval" if row.needs_approval else "blocked"
    largest = "" if row.largest is None else f"; the largest quantity that would pass is {row.largest}"
    order = f"{row.side} {known(row.quantity)} {row.symbol} at {known(row.limit)} {row.currency}"
    numbers = f"notional {known(row.notional)}, commission {known(row.commission)}, FX {known(row.fx)}"
    crosses = f"crosses {row.crosses}, which is cancelled first" if row.crosses else ""
    lines = [numbers, quote_words(quote) if quote else "", *(reason_words(reason) for reason in row.reasons), crosses]
    return [f"{row.index}. {order}: {verdict}{largest}", *(f"   {line}" for line in lines if line)]


def reason_words(reason: Reason) -> str:
    """Why a rule blocks, with its numbers."""
    numbers = {"limit": reason.limit, "value": reason.value, "headroom": reason.headroom}
    told = ", ".join(f"{name} {number}" for name, number in numbers.items() if number is not None)
    return f"{reason.rule.value}: {reason.message}" + (f" ({told})" if told else "")


def quote_words(quote: Quote) -> str:
    """A quote; what is absent is unknown."""
    prices = ", ".join(f"{name} {known(getattr(quote, name))}" for name in ("bid", "ask", "last", "close"))
    return f"quote of {quote.symbol}: {prices} {quote.currency} ({quote.kind.value}, {seconds(quote.at)})"


def seconds(at: str) -> str:
    """Date and time in UTC, to the second."""
    return at[:TIME_CHARS].replace("T", " ")


def quoted(text: str) -> str:
    """Somebody else's words."""
    return f'"{text}"'


def known(number: Exact | None) -> str:
    """A number, or that there is none."""
    return UNKNOWN if number is None else str(number)


def listed(names: Iterable[str]) -> str:
    """Names in a row."""
    return ", ".join(names) or "none"


def counted(number: int, what: str) -> str:
    """`1 fill`, `2 fills`."""
    return f"{number} {what}" + ("" if number == 1 else "s")
