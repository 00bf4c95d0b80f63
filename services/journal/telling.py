"""What each event says, in words: a sentence, then details, one line each. Pure. Foreign text is not made safe here."""

from functools import singledispatch
from typing import Final

import msgspec

from services.journal.gathering import data_of
from services.journal.telling_operator import operator_words
from services.journal.words import UNKNOWN, counted, decision_words, known, listed, quote_words, quoted, reason_words, seconds
from shared.protocol import events
from shared.protocol.envelope import Event, canonical
from shared.protocol.market import ProposedOrder, Quote

MAX_RAW_CHARS: Final = 500
HASH_CHARS: Final = 12

Told = list[str]


class Focus(msgspec.Struct, frozen=True):
    """What the story is about: one order of the proposal or (None) all of them; the quotes of the verdict by instrument key.

    `prices`: an observation lists all its quotes; else they stand below the decisions that were made on them.
    """

    index: int | None = None
    quotes: dict[str, Quote] = {}
    prices: bool = False

    def has(self, index: int) -> bool:
        """Whether the order at this place belongs to the story."""
        return self.index in {None, index}


def tell(event: Event, focus: Focus) -> Told:
    """The sentence of an event and its details; a type or data unknown here is shown as it is stored."""
    data = data_of(event)
    if data is None:
        return [f"{event.type} that cannot be read: {bytes(event.envelope.data).decode('utf-8', 'replace')[:MAX_RAW_CHARS]}"]
    return _tell(data, focus)


@singledispatch
def _tell(data: events.Data, _focus: Focus) -> Told:
    return operator_words(data) or [f"{type(data).__name__} {canonical(data).decode()[:MAX_RAW_CHARS]}"]


@_tell.register
def _(data: events.ClockAdvanced, _focus: Focus) -> Told:
    return [f"the clock moved to the {data.step} of {data.session}"]


@_tell.register
def _(data: events.CancelOrdered, _focus: Focus) -> Told:
    return [f"an operator orders {data.order} to be cancelled: {quoted(data.reason)}"]


@_tell.register
def _(data: events.HaltOrdered, _focus: Focus) -> Told:
    sells = ", and what is held is to be sold" if data.liquidate else ""
    return [f"{data.kind} halt of {data.scope} ordered{sells}: {quoted(data.reason)}"]


@_tell.register
def _(data: events.HaltTripped, _focus: Focus) -> Told:
    sells = ", and what is held is to be sold" if data.liquidate else ""
    told = [f"{data.cause} trips, {data.kind} halt of {data.scope}{sells}: {data.message}"]
    if data.value is not None:
        told.append(
            f"value {data.value}, peak {known(data.peak)}, drawdown {known(data.drawdown_pct)} %, limit {known(data.limit_pct)} %"
        )
    return [*told, *(f"evidence {name}" for name in data.evidence)]


@_tell.register
def _(data: events.HaltReset, _focus: Focus) -> Told:
    held = ", although something may still be held" if data.keep_holdings else ""
    return [f"the halt of {data.scope} is lifted{held}, the peak becomes the value: {quoted(data.reason)}"]


@_tell.register
def _(data: events.FlattenOrdered, _focus: Focus) -> Told:
    return [f"an operator wants {data.symbol or 'everything'} of {data.scope} sold: {quoted(data.reason)}"]


@_tell.register
def _(data: events.ApprovalGiven, _focus: Focus) -> Told:
    return [f"an operator approves {data.order}, which is judged afresh: {quoted(data.reason)}"]


@_tell.register
def _(data: events.ApprovalRefused, _focus: Focus) -> Told:
    return [f"an operator refuses {data.order}: {quoted(data.reason)}"]


@_tell.register
def _(data: events.RunStarted, _focus: Focus) -> Told:
    model = f"model {data.model}, prompt {data.prompt_version or UNKNOWN}" if data.model else ""
    return [f"{data.source} is asked to decide for {data.session}", *_given(f"names to price: {listed(data.names)}", model)]


@_tell.register
def _(data: events.AccountReconciled, _focus: Focus) -> Told:
    cash = ", ".join(f"{amount} {currency}" for currency, amount in data.cash.items()) or "nothing"
    counts = f"{counted(len(data.positions), 'position')}, {counted(len(data.open_orders), 'open order')}"
    lines = [f"unattributed: {amount} {currency} are in no book" for currency, amount in data.unattributed.items()]
    lines += [f"pending: what {order} explains is looked at again when it ends" for order in data.pending]
    return [f"account {data.account} agrees with the books: cash {cash}, {counts}", *lines]


@_tell.register
def _(data: events.ReconciliationFailed, _focus: Focus) -> Told:
    lines = (f"{row.what}: expected {row.expected or UNKNOWN}, found {row.found or UNKNOWN}" for row in data.differences)
    return [f"account {data.account or UNKNOWN} does not agree with the books", *lines]


@_tell.register
def _(data: events.MarketObserved, focus: Focus) -> Told:
    sessions = ", ".join(f"{name} {'open' if found.open else 'closed'}" for name, found in data.sessions.items())
    sentence = f"the market for the {data.purpose}: {counted(len(data.quotes), 'quote')}; {sessions or 'no exchange known'}"
    if focus.prices:
        return [sentence, *(quote_words(quote) for quote in data.quotes)]
    return [sentence, *_given(f"quotes of {listed(quote.symbol for quote in data.quotes)}" if focus.index is None else "")]


@_tell.register
def _(data: events.BookValued, _focus: Focus) -> Told:
    used = f"orders used: {data.used.month} this month, {data.used.day} today"
    value = f"the book is worth {known(data.value)}: cash {data.cash}, {counted(len(data.holdings), 'holding')}"
    breach = f"{counted(data.breach.count, 'valuation')} in a row at or over the drawdown limit" if data.breach else ""
    holdings = (
        f"{row.quantity} {row.symbol} at {known(row.price)} {row.currency}, worth {known(row.value)}" for row in data.holdings
    )
    return [f"{value}; peak {data.peak}, drawdown {known(data.drawdown_pct)} %; {used}", *_given(breach), *holdings]


@_tell.register
def _(data: events.RunCleared, _focus: Focus) -> Told:
    blocked = f"; BUYs are blocked by {', '.join(data.buys_blocked)}" if data.buys_blocked else ""
    return [f"the source may think{blocked}"]


@_tell.register
def _(data: events.RunStopped, _focus: Focus) -> Told:
    return [f"the run stops here, {data.status.value}: {data.message}"]


@_tell.register
def _(data: events.ProposalMade, focus: Focus) -> Told:
    orders = [f"{index}. {_proposed(order)}" for index, order in enumerate(data.orders, start=1) if focus.has(index)]
    cost = f"cost {data.cost.amount} {data.cost.currency}" if data.cost else ""
    transcript = f"transcript {data.transcript}" if data.transcript else ""
    untrusted = "from foreign text, so not trusted" if data.untrusted else ""
    sentence = f"{data.source} proposes {counted(len(data.orders), 'order')} ({data.stop_reason.value}): {quoted(data.summary)}"
    return [sentence, *orders, *_given(cost, transcript, untrusted)]


@_tell.register
def _(data: events.SourceFailed, _focus: Focus) -> Told:
    return [f"the source failed, {data.kind.value}: {quoted(data.message)}"]


@_tell.register
def _(data: events.Verdict, focus: Focus) -> Told:
    approved = sum(row.approved for row in data.decisions)
    counts = f"{data.kind}: {approved} approved, {len(data.decisions) - approved} not"
    value = f"value {known(data.value)}, drawdown {known(data.drawdown_pct)} %"
    under = f"rules version {data.rules}, policy {data.policy_hash[:HASH_CHARS]}, valid until {seconds(data.valid_until)}"
    found = [f"verdict on the {counts}; {value}; {under}"]
    found += [f"for the whole batch: {reason_words(reason)}" for reason in data.block]
    for row in sorted(data.decisions, key=lambda row: row.index):
        if focus.has(row.index):
            found += decision_words(row, focus.quotes.get(f"{row.symbol}:{row.currency}"))
    found += [f"evidence {name}" for name in data.evidence]
    return found


@_tell.register
def _(data: events.OrderWithheld, _focus: Focus) -> Told:
    return [f"{data.order} is not sent, {data.reason.value}: {data.message}"]


@_tell.register
def _(data: events.OrderIntended, _focus: Focus) -> Told:
    order = f"{data.side} {data.quantity} {data.symbol} at {data.limit} {data.currency}"
    return [f"{data.order} is about to be sent to {data.exchange}: {order}, reference {data.reference}"]


@_tell.register
def _(data: events.OrderPlaced, _focus: Focus) -> Told:
    return [f"{data.order} is at the broker as {data.permanent_id}, {data.status}"]


@_tell.register
def _(data: events.FillSettled, _focus: Focus) -> Told:
    fill = f"{data.side} {data.quantity} {data.symbol} at {data.price} {data.currency}"
    cost = f"fee {data.fee.amount} {data.fee.currency}, FX {data.fx}, cash {data.cash_effect}"
    return [f"{data.order} filled: {fill}; {cost} (execution {data.execution})"]


@_tell.register
def _(data: events.OrderClosed, _focus: Focus) -> Told:
    said = f": {quoted(data.message)}" if data.message else ""
    return [f"{data.order} is over, {data.end.value}, {data.filled} filled in all{said}"]


@_tell.register
def _(data: events.RunSettled, _focus: Focus) -> Told:
    return [f"every order is settled: {data.filled} filled, {data.unfilled} not filled, {data.withheld} withheld"]


@_tell.register
def _(data: events.RunEnded, _focus: Focus) -> Told:
    return [f"the run ends, {data.status.value}: {data.message}"]


@_tell.register
def _(data: events.KeysAdopted, _focus: Focus) -> Told:
    whose = "keys" if data.rotated is None else f"a new key of {data.rotated}"
    return [
        f"{whose} adopted under the root {data.root}: {quoted(data.reason)}",
        *(f"{who} {key}" for who, key in data.keys.items()),
    ]


@_tell.register
def _(data: events.StateHashed, _focus: Focus) -> Told:
    place = f"the close of {data.session}" if data.seq is None else f"sequence {data.seq}"
    return [f"the state behind {place} has the hash {data.state_hash}"]


def _proposed(order: ProposedOrder) -> str:
    """An order as its source wrote it."""
    words = f"{order.side} {order.quantity or '?'} {order.symbol} at {order.limit or '?'} {order.currency}"
    confidence = f", confidence {order.confidence}" if order.confidence else ""
    exchange = f" on {order.exchange}" if order.exchange else ""
    return f"{words}{exchange}{confidence}: {quoted(order.reason)}"


def _given(*lines: str) -> Told:
    """The lines that say something."""
    return [line for line in lines if line]
