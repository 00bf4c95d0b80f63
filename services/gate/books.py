"""A book as judging sees it: its own cash and holdings, and every order at work on the account."""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from services.gate.rest import Rest
from shared.ledger.account import less
from shared.ledger.account_state import Account
from shared.ledger.periods import exchange_day_of, month_of
from shared.ledger.state import Halt, LedgerOrder, State, halts_of
from shared.protocol.events import Breach
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, wide_context
from shared.protocol.policy import Policy


class BookView(msgspec.Struct, frozen=True):
    """What judging needs of one book at one time; amounts in base currency, holdings in shares by instrument key.

    `working` are the open orders of this book, `others` those of the account's other books. `reserves` is false if what the
    working BUYs hold back cannot be known. `currencies` are those of which the account holds cash, None if that is unknown.
    `exchanges`: where a holding was bought, for names that left the universe. `rest` sums up the account's other books. `breach`:
    the newest valuation saw the drawdown limit reached, which stops buying until another one does not. `borrowed` are currencies
    of which the account owes money. `at_broker`: shares that the broker has beyond what belongs to no book, while log and broker
    differ; None: they agree, or it is not known.
    """

    name: str
    cash: Exact
    holdings: Mapping[str, Decimal]
    working: tuple[LedgerOrder, ...]
    others: tuple[LedgerOrder, ...]
    peak: Exact
    used_month: int
    used_day: int
    halts: tuple[Halt, ...] = ()
    reconciled: bool = True
    day_start: Exact | None = None
    day_flows: Exact = ZERO
    currencies: tuple[str, ...] | None = None
    exchanges: Mapping[str, str] = {}
    reserves: bool = True
    rest: Rest = Rest()
    breach: Breach | None = None
    borrowed: tuple[str, ...] = ()
    at_broker: Mapping[str, Decimal] | None = None


def book_view(state: State, policy: Policy, name: str, at: str) -> BookView:
    """The view of a book of the ledger at time `at`; raises `KeyError` for a book that the ledger does not have."""
    book = state.books[name]
    cash = state.account.cash if state.account.found is None else state.account.found
    day = exchange_day_of(at)
    working = tuple(book.orders.values())
    return BookView(
        name=name,
        cash=book.cash,
        holdings={key: holding.quantity for key, holding in book.holdings.items()},
        working=working,
        others=tuple(order for other in state.books.values() if other.name != name for order in other.orders.values()),
        peak=book.peak,
        used_month=book.month.within(month_of(at, policy.limits.month_timezone)),
        used_day=book.day.within(day),
        halts=halts_of(state, book),
        reconciled=not state.account.failed,
        day_start=book.loss_start if book.loss_day == day else None,
        day_flows=book.loss_flows,
        exchanges={key: row.exchange for key, row in book.holdings.items() if row.exchange is not None},
        breach=book.breach,
        borrowed=tuple(sorted(state.account.borrowed)),
        at_broker=_at_broker(state.account),
        reserves=all(order.schedule is not None for order in working if order.side is Side.BUY),
        rest=_rest(state, name, day),
        currencies=None if cash is None else tuple(sorted(currency for currency, held in cash.items() if held > ZERO)),
    )


def _at_broker(account: Account) -> Mapping[str, Decimal] | None:
    """What the broker was found to have for the books, while that is not what they hold."""
    if not account.failed or account.positions is None:
        return None
    return less(account.positions, account.baseline)


def _rest(state: State, name: str, day: str) -> Rest:
    """The account's other books together on an exchange day."""
    others = [book for book in state.books.values() if book.name != name]
    holdings: dict[str, Decimal] = {}
    with wide_context():
        for book in others:
            for key, holding in book.holdings.items():
                holdings[key] = holdings.get(key, ZERO) + holding.quantity
        cash = Exact(sum((book.cash for book in others), ZERO))
    return Rest(cash, holdings, sum(book.day.within(day) for book in others))
