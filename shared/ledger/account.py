"""How the broker's account changes in the ledger: what it was found to hold, fills, and what operators accept."""

from msgspec.structs import replace

from shared.ledger.account_state import Account
from shared.ledger.books import adjust, with_book
from shared.ledger.state import State
from shared.protocol.envelope import Event
from shared.protocol.events import AccountBaselined, AccountReconciled, AdjustmentBooked, FillSettled, ReconciliationFailed
from shared.protocol.ids import DESK_BOOK, about_of
from shared.protocol.market import Side, instrument_key
from shared.protocol.money import ZERO, Exact, wide_context

Amounts = dict[str, Exact]


def reconciled(state: State, event: Event) -> State:
    """Log and broker agree: the broker's cash is what the log explains, but for what is listed."""
    data = event.expect(AccountReconciled)
    account = replace(
        state.account,
        cash=less(less(data.cash, data.unattributed), data.awaited),
        failed=False,
        name=data.account,
        found=dict(data.cash),
        positions=dict(data.positions),
        last_positions=dict(data.positions),
        unattributed=dict(data.unattributed),
        differences=(),
        pending=data.pending,
        looked_at=event.at,
        adopted=False,
    )
    return replace(state, account=account)


def failed(state: State, event: Event) -> State:
    """They differ; what the broker did not say stays unknown. A final failure is the end of the desk."""
    data = event.expect(ReconciliationFailed)
    account = replace(
        state.account,
        failed=True,
        name=data.account or state.account.name,
        found=data.cash,
        positions=data.positions,
        last_positions=state.account.last_positions if data.positions is None else data.positions,
        differences=data.differences,
        pending=(),
        looked_at=event.at,
        adopted=False,
    )
    state = replace(state, account=account)
    if event.run is None and state.step is not None and about_of(event.id).startswith(DESK_BOOK):
        state = replace(state, step=replace(state.step, failures=state.step.failures + 1))
    if not data.final:
        return state
    lines = (f"{row.what}: expected {row.expected or 'unknown'}, found {row.found or 'unknown'}" for row in data.differences)
    return replace(state, problem="; ".join(lines) or "reconciliation failed")


def filled(account: Account, fill: FillSettled) -> Account:
    """The account after a fill: cash per currency and shares; unknown stays unknown."""
    with wide_context():
        gross = fill.quantity * fill.price
        flows: list[tuple[str, Exact]] = [
            (fill.currency, Exact(gross if fill.side is Side.SELL else -gross)),
            (fill.fee.currency, Exact(-fill.fee.amount)),
        ]
    shares = fill.quantity if fill.side is Side.BUY else Exact(-fill.quantity)
    key = instrument_key(fill.symbol, fill.currency)
    return replace(
        account,
        cash=None if account.cash is None else plus(account.cash, *flows),
        found=None if account.found is None else plus(account.found, *flows),
        positions=None if account.positions is None else plus(account.positions, (key, shares)),
        last_positions=None if account.last_positions is None else plus(account.last_positions, (key, shares)),
    )


def baselined(state: State, event: Event) -> State:
    """What belongs to no book, and the cash from which reconciliation goes on."""
    data = event.expect(AccountBaselined)
    cash = dict(data.cash) or state.account.cash
    account = replace(state.account, baseline=dict(data.positions), cash=cash, unattributed={}, adopted=True)
    return replace(state, account=account)


def adjusted(state: State, event: Event) -> State:
    """What an operator accepts: the account's cash and shares are explained, and the books get their parts."""
    data = event.expect(AdjustmentBooked)
    key = None if data.symbol is None else instrument_key(data.symbol, data.currency)
    for share in data.shares:
        if share.book in state.books:
            state = with_book(state, adjust(state.books[share.book], share, data.kind, key))
    account = state.account
    cash = None if account.cash is None else plus(account.cash, (data.currency, data.amount))
    rest = plus(account.unattributed, (data.currency, Exact(-data.amount))) if account.unattributed else {}
    baseline = account.baseline
    if key is not None and data.quantity is not None:
        with wide_context():
            of_books = sum((share.quantity for share in data.shares if share.quantity is not None), ZERO)
            baseline = without_zeros(plus(baseline, (key, Exact(data.quantity - of_books))))
    return replace(state, account=replace(account, cash=cash, unattributed=without_zeros(rest), baseline=baseline, adopted=True))


def plus(amounts: Amounts, *changes: tuple[str, Exact]) -> Amounts:
    """Amounts with changes added, exactly."""
    found = dict(amounts)
    with wide_context():
        for name, change in changes:
            found[name] = Exact(found.get(name, ZERO) + change)
    return found


def less(amounts: Amounts, others: Amounts) -> Amounts:
    """Amounts less others of the same names."""
    return plus(amounts, *((name, Exact(-amount)) for name, amount in others.items()))


def without_zeros(amounts: Amounts) -> Amounts:
    """Only what is not nothing."""
    return {name: amount for name, amount in amounts.items() if amount}
