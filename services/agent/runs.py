"""A run as the agent sees it: how it starts, what its source may know and answers, how it ends. Pure."""

from typing import Final

from msgspec.structs import replace

from services.agent.answers import answer_of
from services.agent.sources.port import Close, Fault, Proposal, RunView, Source
from shared.ledger.dry import DRY, mode_of
from shared.ledger.owed import Owed
from shared.ledger.state import Run, State
from shared.protocol.envelope import Draft, Event, clean_text
from shared.protocol.events import (
    MAX_TEXT_CHARS,
    BookArgs,
    BookValued,
    EventData,
    MarketObserved,
    ProposalMade,
    RunEnded,
    RunSettled,
    RunStarted,
    RunStopped,
    SourceFailed,
    Verdict,
)
from shared.protocol.money import Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import RunStatus, SourceFault, StopReason
from shared.protocol.reference import reference_price

AUTHOR: Final = "agent"


class Unready(LookupError):
    """The log asks for something that it does not give the means for: a fault of whoever wrote it, never of a source."""


def args_of(state: State, book: str) -> BookArgs:
    """The source and argument that the run's arguments give a book; raises `Unready`."""
    for args in state.args.books if state.args else ():
        if args.book == book:
            return args
    raise Unready(f"the log asks for a run of the book {book}, which the arguments of the first ClockAdvanced do not name")


def started(state: State, item: Owed) -> Draft:
    """A due book's run begins: its source asks for a decision, with the whole universe priced."""
    if state.step is None:
        raise Unready(f"{item.about} cannot start before the first ClockAdvanced")
    clock = state.step.clock
    names = universe_of(policy_of(state))
    data = RunStarted(args_of(state, item.book).source, clock.to, clock.session, names)
    draft = _draft(state, item, data, state.step.event)
    return replace(draft, mode=DRY) if item.book in clock.dry else draft


def view_of(state: State, run: Run, history: dict[str, tuple[Close, ...]]) -> RunView:
    """What a cleared run's source may see; of `history` only the closes before the run's session. Raises `Unready`."""
    if run.valued is None or run.observed is None or state.args is None or run.session not in state.args.sessions:
        raise Unready(f"{run.id} lacks its valuation, its prices or its place among the sessions of the run")
    policy, valued = policy_of(state), run.valued.expect(BookValued)
    observed = run.observed.expect(MarketObserved)
    return RunView(
        session=run.session,
        index=state.args.sessions.index(run.session),
        sessions=state.args.sessions,
        names=universe_of(policy),
        cash=valued.cash,
        holdings={f"{row.symbol}:{row.currency}": row.quantity for row in valued.holdings},
        value=valued.value,
        references=references_of(observed, policy),
        fx={**observed.fx, policy.base_currency: Exact(1)},
        history={key: tuple(close for close in closes if close.day < run.session) for key, closes in history.items()},
    )


def references_of(observed: MarketObserved, policy: Policy) -> dict[str, Exact]:
    """Reference price by instrument key, in the instrument's currency, of every name that has one."""
    found = {quote.key: reference_price(quote, policy.limits.quote_kinds) for quote in observed.quotes}
    return {key: Exact(price) for key, price in found.items() if price is not None}


def think(source: Source, view: RunView) -> Proposal | Fault:
    """Ask a source; what it raises is its fault and costs the other books nothing."""
    try:
        return source.propose(view)
    except Exception as error:
        return Fault(SourceFault.CRASHED, f"{type(error).__name__}: {error}")


def needed(source: Source, view: RunView) -> int | Fault:
    """How many past closes a source wants; what it raises is its fault."""
    try:
        return source.history_needed(view)
    except Exception as error:
        return Fault(SourceFault.CRASHED, f"{type(error).__name__}: {error}")


def concluded(state: State, item: Owed, outcome: Proposal | Fault) -> Draft:
    """What is written of a source's answer: its proposal, or its fault."""
    run = state.runs[item.about]
    if run.cleared is None:
        raise Unready(f"{run.id} is not cleared: its source must not be asked")
    return _draft(state, item, answer_of(run.source, outcome), run.cleared)


def ended(state: State, item: Owed) -> Draft:
    """The run's final status (`gate.md`, section 7)."""
    run = state.runs[item.about]
    status, message, cause = _end(run)
    return _draft(state, item, RunEnded(status, clean_text(message, MAX_TEXT_CHARS)), cause)


def errored(state: State, item: Owed, error: Exception) -> Draft:
    """The end of a cleared run in which something unforeseen happened; it holds the exception."""
    run = state.runs[item.about]
    told = clean_text(f"{type(error).__name__}: {error}", MAX_TEXT_CHARS)
    end = replace(item, type="RunEnded", k=1)
    return _draft(state, end, RunEnded(RunStatus.ERROR, told), run.cleared or run.started)


def _end(run: Run) -> tuple[RunStatus, str, Event]:
    """Status, message and the event that ends the run: what stopped it first, what failed, then how its source answered."""
    if run.stopped is not None:
        stopped = run.stopped.expect(RunStopped)
        return stopped.status, stopped.message, run.stopped
    if run.failed is not None:
        fault = run.failed.expect(SourceFailed)
        return RunStatus.SOURCE_FAILED, f"{fault.kind}: {fault.message}", run.failed
    if run.settled is None or run.proposal is None:
        raise Unready(f"{run.id} cannot end: it is neither stopped, failed nor settled")
    proposal, told = run.proposal.expect(ProposalMade), _told(run, run.proposal, run.settled)
    if run.reconciled is not None and run.reconciled.type == "ReconciliationFailed":
        return RunStatus.RECONCILE_FAILED, f"the account does not agree with the books, buying was blocked; {told}", run.settled
    if proposal.stop_reason is StopReason.HELD:
        return RunStatus.HELD, proposal.summary, run.settled
    return RunStatus.DRY_RUN if run.dry else RunStatus.OK, told, run.settled


def _told(run: Run, proposal: Event, settled: Event) -> str:
    """What became of the proposed orders, in counts; of those of a dry run, what would have."""
    orders, counts = len(proposal.expect(ProposalMade).orders), settled.expect(RunSettled)
    if run.dry:
        passed = sum(decision.approved for decision in run.verdict.expect(Verdict).decisions) if run.verdict else 0
        return f"dry run: {orders} proposed, {passed} would be sent, {orders - passed} would not, nothing was sent"
    approved = counts.filled + counts.unfilled + counts.withheld
    sent = f"{counts.filled} filled, {counts.unfilled} not filled, {counts.withheld} withheld"
    return f"{orders} proposed, {orders - approved} blocked, {sent}"


def policy_of(state: State) -> Policy:
    """The policy in force; raises `Unready` before it is adopted."""
    if state.policy is None:
        raise Unready("no policy is in force")
    return state.policy.policy


def universe_of(policy: Policy) -> tuple[str, ...]:
    """Every instrument key of the universe, sorted."""
    return tuple(sorted(row.key for row in policy.universe))


def _draft(state: State, item: Owed, data: EventData, cause: Event) -> Draft:
    """An event of a run at desk time."""
    mode = mode_of(state, item.run)
    return Draft(AUTHOR, item.book, item.about, now_of(state), state.seq, data, item.run, cause.id, item.k, mode)


def now_of(state: State) -> str:
    """Desk time; raises `Unready` before the first `ClockAdvanced`."""
    if state.now is None:
        raise Unready("desk time is not known before the first ClockAdvanced")
    return state.now
