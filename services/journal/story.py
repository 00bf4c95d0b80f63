"""An explanation as a story for people, and as a document for programs. Pure."""

from collections.abc import Iterable
from typing import Final

import msgspec

from services.journal.gathering import Explanation, every
from services.journal.subject import Kind
from services.journal.telling import Focus, tell
from services.journal.words import counted, seconds
from shared.ledger.dry import is_dry
from shared.protocol.envelope import Event
from shared.protocol.events import (
    Data,
    FillSettled,
    MarketObserved,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrderWithheld,
    PolicyAdopted,
    ProposalMade,
    RunEnded,
    RunSettled,
    Verdict,
)
from shared.protocol.ids import is_caused
from shared.protocol.market import Quote
from shared.protocol.money import ZERO, Exact, wide_context

SEQ_WIDTH: Final = 7
AUTHOR_WIDTH: Final = 8
LATIN_1: Final = 0xFF
BASIC_PLANE: Final = 0xFFFF


class Totals(msgspec.Struct, frozen=True):
    """What the fills come to: `cash_effect` in base currency, `fees` by currency."""

    fills: int
    cash_effect: Exact
    fees: dict[str, Exact]


def totals(explanation: Explanation) -> Totals:
    """The sum of the fills that are explained."""
    fills = every(explanation.events, FillSettled)
    fees: dict[str, Exact] = {}
    with wide_context():
        for fill in fills:
            fees[fill.fee.currency] = Exact(fees.get(fill.fee.currency, ZERO) + fill.fee.amount)
        return Totals(len(fills), Exact(sum((fill.cash_effect for fill in fills), ZERO)), fees)


def document(explanation: Explanation) -> dict[str, object]:
    """The one document of `propdesk explain --json`: `events` word for word, older versions as the newest would be."""
    policy = explanation.policy
    adopted = policy and {
        "seq": policy.seq,
        "id": policy.id,
        "policy_hash": policy.expect(PolicyAdopted).policy_hash,
    }
    summed = totals(explanation)
    return {
        "about": explanation.about,
        "kind": explanation.kind.value,
        "run": explanation.run,
        "order": explanation.order,
        "execution": explanation.execution,
        "dry": explanation.dry,
        "outcome": outcome(explanation),
        "decision": _plain(explanation.decision),
        "totals": {"fills": summed.fills, "cash_effect": str(summed.cash_effect), "fees": _plain(summed.fees)},
        "policy": adopted,
        "signed": explanation.signed,
        "last_seq": explanation.last_seq,
        "dropped": explanation.dropped,
        "events": [_event(event) for event in explanation.events],
    }


def _event(event: Event) -> dict[str, object]:
    """One event of the document."""
    kept = event.envelope
    return {
        "seq": event.seq,
        "id": event.id,
        "type": event.type,
        "at": event.at,
        "by": {"service": kept.by.service, "instance": kept.by.instance},
        "book": event.book,
        "mode": kept.mode,
        "cause": kept.cause,
        "sha256": event.sha256,
        "data": msgspec.json.decode(kept.data),
    }


def _plain(value: object) -> object:
    """Structs and decimals as JSON has them."""
    return msgspec.to_builtins(value, enc_hook=str)


def story(explanation: Explanation) -> list[str]:
    """The lines of the text; none holds anything that a terminal would act on."""
    focus = _focus(explanation)
    lines = [_head(explanation), "all times are UTC", ""]
    for event in explanation.events:
        sentence, *details = tell(event, focus)
        start = f"{event.seq:>{SEQ_WIDTH}}  {seconds(event.at)}  {event.author:<{AUTHOR_WIDTH}}  "
        tried = "[dry] " if is_dry(event) else ""
        lines += [f"{start}{tried}{sentence}", *(f"{' ' * len(start)}{detail}" for detail in details)]
    return [printable(line) for line in (*lines, "", *_tail(explanation))]


def printable(text: str) -> str:
    """Text with every character that is not to be seen (control, format, private, line ends) written as its escape."""
    return "".join(char if char.isprintable() else _escaped(ord(char)) for char in text)


def _escaped(code: int) -> str:
    if code <= LATIN_1:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= BASIC_PLANE else f"\\U{code:08x}"


def _focus(explanation: Explanation) -> Focus:
    """What of the shared events belongs to the story."""
    verdicts = every(explanation.events, Verdict)
    evidence = {name for verdict in verdicts for name in verdict.evidence}
    observed = every((event for event in explanation.events if event.id in evidence), MarketObserved)
    quotes = {quote.key: quote for market in observed for quote in market.quotes}
    index = explanation.index
    if index is None:
        return Focus(None, quotes, prices=explanation.kind is Kind.EVENT)
    return Focus(index, _quotes_of(explanation, index, quotes))


def _quotes_of(explanation: Explanation, index: int, quotes: dict[str, Quote]) -> dict[str, Quote]:
    """The quote of one order."""
    orders = [order for made in every(explanation.events, ProposalMade) for order in made.orders[index - 1 : index]]
    decision = explanation.decision
    keys = {f"{order.symbol}:{order.currency}" for order in orders}
    keys |= {f"{decision.symbol}:{decision.currency}"} if decision else set()
    return {key: quote for key, quote in quotes.items() if key in keys}


def outcome(explanation: Explanation) -> str:
    """How it ended, as the last event says that is about it; an order's by its own events alone."""
    kinds: tuple[type[Data], ...] = (OrderClosed, OrderWithheld, OrderPlaced, OrderIntended)
    if explanation.kind in {Kind.RUN, Kind.EVENT}:
        kinds = (RunSettled,) if is_caused(explanation.run) else (RunEnded,)
    for kind in kinds:
        found = every(explanation.events, kind)
        if found:
            return _end(found[-1])
    decision = explanation.decision
    if decision is None:
        return "not ended yet" if explanation.run else "stands in the log"
    passed = "would be sent" if explanation.dry else "approved"
    return passed if decision.approved else "needs approval" if decision.needs_approval else "blocked"


def _end(data: Data) -> str:
    """The word for an end."""
    match data:
        case OrderClosed():
            return data.end.value
        case OrderWithheld():
            return f"withheld ({data.reason.value})"
        case RunEnded():
            return data.status.value
        case RunSettled():
            return "settled"
        case OrderPlaced():
            return data.status
    return "intended"


def _count_for(number: int) -> str:
    return "counts for" if number == 1 else "count for"


def _head(explanation: Explanation) -> str:
    """What it is and how it ended."""
    of = f" of order {explanation.order}" if explanation.kind is Kind.EXECUTION else ""
    run = f", run {explanation.run}" if explanation.run and explanation.kind is not Kind.RUN else ""
    dry = " of a dry run" if explanation.dry else ""
    return f"{explanation.kind.value} {explanation.about}{of}{run}{dry}: {outcome(explanation)}"


def _tail(explanation: Explanation) -> Iterable[str]:
    """What it came to, under which policy, and what was checked while reading."""
    summed = totals(explanation)
    if explanation.run is not None:
        fees = ", ".join(f"{amount} {currency}" for currency, amount in summed.fees.items()) or "none"
        yield f"in all: {counted(summed.fills, 'fill')}, cash {summed.cash_effect} in base currency, fees {fees}"
    if explanation.policy is not None:
        adopted = explanation.policy.expect(PolicyAdopted)
        yield f'policy {adopted.policy_hash}, adopted at sequence {explanation.policy.seq}: "{adopted.reason}"'
    yield (
        f"{counted(len(explanation.events), 'event')} of a log that ends at sequence {explanation.last_seq}; "
        "up to there every writer's events follow one another without a gap (n and prev)"
        + (", and each is signed with its writer's key" if explanation.signed else "")
    )
    if explanation.dropped:
        yield f"left out: {counted(explanation.dropped, 'message')} of that log that {_count_for(explanation.dropped)} nothing"
