"""What the gate owes, decided from the folded state alone: one pure function per event type."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from services.gate.blocks import FULL, Block, block_of, named
from services.gate.books import BookView, book_view
from services.gate.drafting import AUTHOR, draft_of, policy_of, run_of, valid_until, verdict_of
from services.gate.killswitch import next_breach
from services.gate.market import Market, observed_market
from services.gate.numbers import amount, exact_arithmetic
from services.gate.protecting import halt_tripped, verdict_of_caused
from services.gate.rules.evidence import LEAST_LEFT
from services.gate.valuation import Peak, Valuation, drawdown_pct, holding_rows, next_peak, quote_digest, quote_marks, value_book
from services.gate.verdict import judge
from shared.ledger.dry import as_found
from shared.ledger.hashing import state_hash
from shared.ledger.owed import Owed
from shared.ledger.periods import exchange_day_of, month_of
from shared.ledger.state import KILL_SWITCH, PROPOSAL, Book, Run, State, halts_of
from shared.protocol.envelope import Draft, Event
from shared.protocol.events import (
    BookValued,
    Breach,
    HaltTripped,
    MarketObserved,
    OrdersUsed,
    ProposalMade,
    RunCleared,
    RunStopped,
    StateHashed,
)
from shared.protocol.market import instrument_key
from shared.protocol.policy import Policy
from shared.protocol.reasons import RunStatus

__all__ = ["AUTHOR", "decide", "valid_until"]

RUN: Final = "run"


def decide(state: State, item: Owed) -> Draft | None:
    """The event that `item` asks for, None while what it needs is not in the log; raises `LookupError` for foreign items."""
    match item.type:
        case "HaltTripped":
            return halt_tripped(state, item)
        case "BookValued" if item.run is None:
            return step_value(state, item)
        case "BookValued":
            return run_value(state, item)
        case "RunCleared":
            return clearance(state, item)
        case "Verdict":
            return verdict(state, item)
        case "StateHashed":
            return hashed(state, item)
        case other:
            raise LookupError(f"the gate does not write {other}")


def run_value(state: State, item: Owed) -> Draft | None:
    """The first valuation of a run, which may move the peak unless it is dry; a run of a book that is not there stops instead."""
    run, book = run_of(state, item), state.books.get(item.book)
    if book is None:
        return draft_of(state, item, RunStopped(RunStatus.HALTED, f"the book {item.book} is not open"), run.started)
    if run.observed is None:
        return None
    return draft_of(state, item, _valued(state, book, run.observed, RUN, dry=run.dry), run.observed)


def step_value(state: State, item: Owed) -> Draft | None:
    """A book's valuation at a watch or close step, which does not move the peak."""
    step = state.step
    if step is None or step.observed is None:
        return None
    return draft_of(state, item, _valued(state, state.books[item.book], step.observed, step.clock.step), step.observed)


def _valued(state: State, book: Book, observed: Event, purpose: str, *, dry: bool = False) -> BookValued:
    """The book at the prices of one observation; what a dry run sees leaves the peak alone."""
    policy = policy_of(state).policy
    market = observed_market(observed.at, observed.expect(MarketObserved), policy)
    holdings = _holdings(book)
    with exact_arithmetic():
        found = value_book(book.cash, holdings, market).value
        value = None if found is None else amount(found)
        peak, marks = Peak(book.peak, book.previous, book.quoted), quote_marks(holdings, market)
        if purpose == RUN and not dry:
            peak = next_peak(peak, value, quote_digest(holdings, market), observed.at)
        seen = Breach(1, observed.at, marks, observed.envelope.run if purpose == RUN else None, (observed.id,))
        return BookValued(
            purpose=purpose,
            cash=book.cash,
            holdings=holding_rows(holdings, market),
            value=value,
            peak=peak.peak,
            previous=peak.previous,
            drawdown_pct=None if value is None else drawdown_pct(value, peak.peak),
            used=_used(policy, book, observed.at),
            evidence=(observed.id,),
            quoted=peak.quoted,
            breach=next_breach(book.breach, seen, value, peak.peak, policy.limits.max_drawdown_pct),
        )


def clearance(state: State, item: Owed) -> Draft | None:
    """Whether the agent may think, and what blocks its BUYs; if not, why the run ends here."""
    run, book = run_of(state, item), state.books[item.book]
    if run.valued is None or run.observed is None:
        return None
    policy = policy_of(state).policy
    market = observed_market(run.observed.at, run.observed.expect(MarketObserved), policy)
    stopped = _killed(run) or _halted(state, book) or _closed(policy, market) or _used_up(policy, book, market.at)
    stopped = stopped or _unpriced(run, book, market)
    if stopped is not None:
        return draft_of(state, item, stopped, run.valued)
    valued = run.valued.expect(BookValued)
    block = _block(policy, book_view(as_found(state, run), policy, item.book, market.at), valued)
    return draft_of(state, item, RunCleared(valued.value, tuple(why.rule for why in block.reasons) if block else ()), run.valued)


def _block(policy: Policy, view: BookView, valued: BookValued) -> Block | None:
    """What blocks the book at its valuation."""
    unpriced = tuple(instrument_key(row.symbol, row.currency) for row in valued.holdings if row.value is None)
    with exact_arithmetic():
        return block_of(policy, view, Valuation(valued.value, Decimal(0), unpriced))


def _killed(run: Run) -> RunStopped | None:
    """The kill switch tripped on this very run's valuation."""
    tripped = run.tripped.expect(HaltTripped) if run.tripped else None
    return RunStopped(RunStatus.KILL_SWITCH, tripped.message) if tripped and tripped.cause == KILL_SWITCH else None


def _halted(state: State, book: Book) -> RunStopped | None:
    """The book is closed or a full halt is in force."""
    if book.closed:
        return RunStopped(RunStatus.HALTED, f"the book {book.name} is closed")
    if book.paused:
        return RunStopped(RunStatus.HALTED, f"the source of {book.name} is paused: {book.paused}")
    full = next((halt for halt in halts_of(state, book) if halt.kind == FULL), None)
    return None if full is None else RunStopped(RunStatus.HALTED, f"full halt: {full.reason}")


def _closed(policy: Policy, market: Market) -> RunStopped | None:
    """No exchange of the universe is open for 15 minutes more."""
    exchanges = sorted({row.exchange for row in policy.universe})
    if any((left := market.left(exchange)) is not None and left >= LEAST_LEFT for exchange in exchanges):
        return None
    return RunStopped(RunStatus.MARKET_CLOSED, f"closed or closing within 15 minutes: {named(tuple(exchanges)) or 'no exchange'}")


def _used_up(policy: Policy, book: Book, at: str) -> RunStopped | None:
    """No order of the month is left, and nothing is held that might still be sold."""
    limits, used = policy.limits, _used(policy, book, at).month
    if used < limits.max_trades_per_month or (book.holdings and limits.exits_exempt):
        return None
    told = f"{used} of {limits.max_trades_per_month} orders of the month in {limits.month_timezone} are used"
    return RunStopped(RunStatus.ORDER_LIMIT_REACHED, told)


def _unpriced(run: Run, book: Book, market: Market) -> RunStopped | None:
    """Not one of the names asked for or held has a price and a rate; where only rates are missing the broker is not ready."""
    names = tuple(sorted({*run.names, *book.holdings}))
    if not names or any(_has_price(market, key) for key in names):
        return None
    if any(market.price(key) is not None for key in names):
        return RunStopped(RunStatus.BROKER_NOT_READY, f"no rate for any of {named(names)}")
    return RunStopped(RunStatus.MARKET_DATA_UNAVAILABLE, f"no price for any of {named(names)}")


def _has_price(market: Market, key: str) -> bool:
    """Whether an instrument can be valued."""
    return market.price(key) is not None and market.quotes[key].currency in market.rates


def verdict(state: State, item: Owed) -> Draft | None:
    """The final judgement of a proposal, on the evidence taken for it alone, at that evidence's own time."""
    run = run_of(state, item)
    if run.kind != PROPOSAL:
        return verdict_of_caused(state, item)
    if run.proposal is None or run.evidence is None:
        return None
    proposal, adopted, at = run.proposal.expect(ProposalMade), policy_of(state), run.evidence.at
    market = observed_market(at, run.evidence.expect(MarketObserved), adopted.policy)
    view = book_view(as_found(state, run), adopted.policy, item.book, at)
    judged = judge(adopted.policy, view, market, proposal.orders, run=run.id, untrusted=proposal.untrusted)
    return draft_of(state, item, verdict_of(state, PROPOSAL, judged, run.evidence), run.evidence)


def hashed(state: State, item: Owed) -> Draft | None:
    """The hash of the ledger after the last fact of a session."""
    if state.step is None or state.step.mark is None:
        return None
    return draft_of(state, item, StateHashed(item.about, state_hash(state.step.mark)), state.step.event)


def _holdings(book: Book) -> Mapping[str, Decimal]:
    """Shares held, by instrument key."""
    return {key: holding.quantity for key, holding in book.holdings.items()}


def _used(policy: Policy, book: Book, at: str) -> OrdersUsed:
    """Orders approved in the month and the exchange day of `at`."""
    return OrdersUsed(book.month.within(month_of(at, policy.limits.month_timezone)), book.day.within(exchange_day_of(at)))
