"""What the gate decides to protect a book: halts that it trips, liquidations, and orders that a person approved. Pure."""

from decimal import Decimal

from msgspec.structs import replace

from services.gate.blocks import MAX_REASON_CHARS
from services.gate.books import book_view
from services.gate.drafting import draft_of, policy_of, run_of, verdict_of
from services.gate.exits import exits_of, liquidate, unfilled_on
from services.gate.killswitch import blinded, tripped
from services.gate.market import observed_market
from services.gate.numbers import exact_arithmetic
from services.gate.rules.reasons import reason
from services.gate.valuation import value_book
from services.gate.verdict import judge
from shared.ledger.account_state import Approval
from shared.ledger.approvals import is_expired
from shared.ledger.owed import Owed
from shared.ledger.parts import APPROVAL, EVALUATOR_FAILED, KILL_SWITCH, LIQUIDATION
from shared.ledger.periods import exchange_day_of
from shared.ledger.reservations import reserved_shares
from shared.ledger.state import Book, Run, State
from shared.ledger.trips import trip_of
from shared.protocol.envelope import Draft, Event
from shared.protocol.events import MarketObserved, Reason, Verdict
from shared.protocol.ids import event_id
from shared.protocol.market import ProposedOrder
from shared.protocol.money import ZERO
from shared.protocol.policy import Policy
from shared.protocol.reasons import Rule


def halt_tripped(state: State, item: Owed) -> Draft:
    """The halt that a book's newest valuation asks for."""
    book, policy = state.books[item.book], policy_of(state).policy
    run, cause = state.runs.get(item.run or ""), trip_of(policy, book)
    if cause == KILL_SWITCH:
        data = tripped(policy, book)
    elif cause == EVALUATOR_FAILED:
        seen = run.observed if run is not None else state.step.observed if state.step else None
        data = blinded(book, *_unpriced(policy, book, seen))
    else:
        raise LookupError(f"{item.book}: its newest valuation asks for no halt")
    return replace(draft_of(state, item, data, _clock(state)), cause=_valuation_of(state, item, run))


def _unpriced(policy: Policy, book: Book, seen: Event | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The holdings that have no price or rate in an observation, and its id."""
    if seen is None:
        return (), ()
    market = observed_market(seen.at, seen.expect(MarketObserved), policy)
    with exact_arithmetic():
        quantities = {key: row.quantity for key, row in book.holdings.items()}
        return value_book(book.cash, quantities, market).unpriced, (seen.id,)


def _valuation_of(state: State, item: Owed, run: Run | None) -> str:
    """The id of the valuation from which a trip follows; without one in this step, of the step itself."""
    if run is not None and run.valued is not None:
        return run.valued.id
    clock = _clock(state)
    valued = state.step is not None and item.book in state.step.valued
    return event_id("gate", "BookValued", item.about) if valued else clock.id


def _clock(state: State) -> Event:
    """The event of the step that goes on."""
    if state.step is None:
        raise LookupError("desk time is not known before the first ClockAdvanced")
    return state.step.event


def verdict_of_caused(state: State, item: Owed) -> Draft | None:
    """The verdict of a run that the desk caused."""
    run = run_of(state, item)
    if run.evidence is None:
        return None
    data = _liquidation(state, run, run.evidence) if run.kind == LIQUIDATION else _approval(state, run, run.evidence)
    return draft_of(state, item, data, run.evidence)


def _liquidation(state: State, run: Run, evidence: Event) -> Verdict:
    """One SELL per holding that is to be sold, on the evidence taken for it alone."""
    policy, seen, book = policy_of(state).policy, evidence.expect(MarketObserved), state.books[run.book]
    sale = book.sale
    wanted = {key: row.quantity for key, row in book.holdings.items() if sale is None or sale.wants(key)}
    all_books = tuple(state.books.values())
    exits = exits_of(
        wanted,
        pending={key: reserved_shares(book, key) for key in wanted},
        pending_all={key: sum((reserved_shares(other, key) for other in all_books), Decimal(0)) for key in wanted},
        positions=state.account.last_positions if seen.positions is None else seen.positions,
        baseline=state.account.baseline,
        unfilled=unfilled_on(sale, exchange_day_of(evidence.at)),
    )
    market = observed_market(evidence.at, seen, policy)
    judged = liquidate(policy, book_view(state, policy, run.book, evidence.at), market, exits, seen.ticks, run.id)
    return verdict_of(state, LIQUIDATION, judged, evidence)


def _approval(state: State, run: Run, evidence: Event) -> Verdict:
    """One order judged afresh against all rules but the approval's own; an approval that is too late or too old blocks it."""
    adopted, found = policy_of(state), run.approval
    if found is None:
        raise LookupError(f"{run.id} does not say which order it is about")
    market = observed_market(evidence.at, evidence.expect(MarketObserved), adopted.policy)
    view = book_view(state, adopted.policy, run.book, evidence.at)
    lapsed = _lapsed(state, found)
    orders = (proposed_again(found),)
    judged = judge(
        adopted.policy, view, market, orders, run=None if lapsed else run.id, untrusted=found.untrusted, agreed=lapsed is None
    )
    if lapsed is not None:
        (row,) = judged.decisions
        reasons = (lapsed, *(() if row.approved or row.needs_approval else row.reasons))
        blocked = replace(row, approved=False, needs_approval=False, reasons=reasons, largest=ZERO, order=None, crosses=None)
        judged = judged._replace(decisions=(blocked,))
    return verdict_of(state, APPROVAL, judged, evidence)


def proposed_again(found: Approval) -> ProposedOrder:
    """The order as its source proposed it."""
    quantity, limit = str(found.quantity), str(found.limit)
    return ProposedOrder(found.symbol, found.currency, found.side, quantity, limit, exchange=found.exchange)


def _lapsed(state: State, found: Approval) -> Reason | None:
    """Why an approval does not count any more."""
    adopted = policy_of(state)
    found = state.approvals.get(found.order, found)
    if found.halt is not None:
        return reason(Rule.HALT, f"a {found.halt.kind} halt came after it was approved: {found.halt.reason[:MAX_REASON_CHARS]}")
    if is_expired(state, found):
        ttl_s = adopted.policy.limits.approval_ttl_s
        return reason(Rule.APPROVAL, f"{found.order} was judged at {found.at}, an approval counts for {ttl_s} s")
    if found.policy_hash != adopted.policy_hash:
        return reason(Rule.APPROVAL, f"{found.order} was judged under policy {found.policy_hash[:12]}, which rules no more")
    return None
