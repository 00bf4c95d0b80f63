"""What an operator accepts of the broker's account: what belongs to no book, and money or shares that no order explains."""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Final

import msgspec

from services.desk.operations.base import (
    Amount,
    BookName,
    CommandRefused,
    Currency,
    Flag,
    Operation,
    SignedAmount,
    Symbol,
    Tools,
    about_request,
    number_of,
    open_book,
)
from services.desk.tally import DeskState
from shared.ledger.account import less, without_zeros
from shared.ledger.account_state import Account
from shared.ledger.books import FEE
from shared.ledger.state import State
from shared.protocol.envelope import Draft
from shared.protocol.events import AccountBaselined, AdjustmentBooked, EventData, Share
from shared.protocol.ids import DESK_BOOK
from shared.protocol.money import ZERO, Exact, divide, rounded, wide_context

DIVIDEND: Final = "dividend"
INTEREST: Final = "interest"
POSITION: Final = "position"
CENTS: Final = 2
CURRENCY: Final = re.compile(r"[A-Z]{3}", re.ASCII)

Kind = Annotated[
    str, msgspec.Meta(pattern="^(dividend|interest|fee|position)$", description="dividend, interest, fee or position")
]
ExDate = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="a date like 2022-11-04")]


class Baseline(Operation, frozen=True, tag="baseline"):
    """What the account holds beyond the books belongs to no book, and its cash is what reconciliation goes on from."""

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`AccountBaselined` as the broker was last seen; refused while that is unknown or the books have more than it."""
        account = state.ledger.account
        if account.name is None or account.positions is None or account.found is None:
            raise CommandRefused("not_reconciled", "it is not known what the account holds: start a run, which looks at it first")
        beyond = without_zeros(differing_shares(state.ledger, {}))
        missing = next((key for key, quantity in beyond.items() if quantity < ZERO), None)
        if missing is not None:
            told = f"the books have {-beyond[missing]} more of {missing} than the broker"
            raise CommandRefused("missing", f"{told}: `propdesk adopt --position {missing}` books what became of them")
        data = AccountBaselined(account.name, beyond, dict(account.found), self.reason)
        return about_request(state, DESK_BOOK, self.request, data)

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same reason."""
        return isinstance(data, AccountBaselined) and data.reason == self.reason

    def told(self) -> str:
        """That it was done."""
        return "what the account holds beyond the books belongs to no book from here on"


class Adjust(Operation, frozen=True, tag="adjust"):
    """Book a dividend, interest, a fee or shares that no order explains, to one book, to all by their part, or to none.

    `amount` is in `currency`, of a fee what was charged; without it all that is unexplained. `fx`: base units per unit of it.
    """

    kind: Kind
    amount: SignedAmount | None = None
    currency: Currency | None = None
    symbol: Symbol | None = None
    quantity: SignedAmount | None = None
    cost: SignedAmount | None = None
    book: BookName | None = None
    pro_rata: Flag = False
    ex_date: ExDate | None = None
    fx: Amount | None = None

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`AdjustmentBooked`."""
        if self.book is not None:
            open_book(state.ledger, self.book)
        symbol, currency = self._instrument(state.ledger)
        amount = self._amount(state.ledger.account, currency)
        rate = self._rate(state.ledger, currency)
        if self.kind == POSITION:
            quantity, shares = self._position(state.ledger, f"{symbol}:{currency}", amount, rate)
            data = AdjustmentBooked(POSITION, currency, amount, self.reason, symbol, quantity, shares)
        else:
            shares = self._shares(state, f"{symbol}:{currency}", amount, rate)
            data = AdjustmentBooked(self.kind, currency, amount, self.reason, symbol, None, shares)
        return about_request(state, DESK_BOOK, self.request, data)

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same kind, reason, instrument and stated numbers."""
        if not isinstance(data, AdjustmentBooked) or (data.kind, data.reason) != (self.kind, self.reason):
            return False
        amount = None if self.amount is None else Exact(self.amount)
        quantity = None if self.quantity is None else Exact(self.quantity)
        to = {share.book for share in data.shares}
        return (
            (data.symbol or "") == (self.symbol or "").partition(":")[0]
            and (amount is None or abs(amount) == abs(data.amount))
            and (quantity is None or quantity == data.quantity)
            and (self.book is None or to == {self.book})
        )

    def told(self) -> str:
        """Kind and where to."""
        to = f"to {self.book}" if self.book else "to the books by their part" if self._is_split() else "to no book"
        return f"{self.kind}{f' of {self.symbol}' if self.symbol else ''} booked {to}"

    def check(self) -> None:
        """Refuse fields that do not go together."""
        if self.book is not None and self.pro_rata:
            raise CommandRefused("bad_request", "one book or all by their part, not both")
        if self.kind in {DIVIDEND, POSITION} and self.symbol is None:
            raise CommandRefused("bad_request", f"a {self.kind} needs the symbol that it is of")
        if self.kind == POSITION and self.pro_rata:
            raise CommandRefused("bad_request", "shares belong to one book or to none")
        if self.kind != POSITION and (self.quantity is not None or self.cost is not None):
            raise CommandRefused("bad_request", f"a {self.kind} has no quantity and no cost")
        if self.kind != DIVIDEND and self.ex_date is not None:
            raise CommandRefused("bad_request", f"a {self.kind} has no ex-date")
        if self.ex_date is not None and not _is_day(self.ex_date):
            raise CommandRefused("bad_request", f"ex_date: there is no day {self.ex_date}")
        if self.fx is not None and not number_of(self.fx, "fx"):
            raise CommandRefused("bad_request", "fx must be above 0")
        symbol, colon, currency = (self.symbol or "").partition(":")
        if self.symbol is not None and (not symbol.strip() or (colon and not CURRENCY.fullmatch(currency))):
            raise CommandRefused("bad_request", f"{self.symbol} is no symbol like AAPL, or with its currency AAPL:USD")

    def _is_split(self) -> bool:
        return self.pro_rata or (self.kind == DIVIDEND and self.book is None)

    def _instrument(self, state: State) -> tuple[str | None, str]:
        """Symbol and currency; without any the desk's base currency."""
        symbol, _, stated = (self.symbol or "").rpartition(":") if ":" in (self.symbol or "") else (self.symbol or "", "", "")
        if self.currency is not None and stated and stated != self.currency:
            raise CommandRefused("bad_request", f"{self.symbol} is not in {self.currency}")
        return symbol or None, self.currency or stated or _base(state)

    def _rate(self, state: State, currency: str) -> Exact:
        """Base units per unit of the currency; raises `CommandRefused` where it would have to be guessed."""
        if currency == _base(state):
            return Exact(1)
        if self.fx is None:
            raise CommandRefused("no_rate", f"say what a {currency} was worth in {_base(state)}: --fx RATE")
        return number_of(self.fx, "fx")

    def _amount(self, account: Account, currency: str) -> Exact:
        """The change of the account's cash: as stated, else all that is unexplained, of shares none."""
        if self.amount is not None:
            amount = number_of(self.amount, "amount")
            if self.kind == FEE and amount > ZERO:
                amount = Exact(-amount)
        elif self.kind == POSITION:
            return ZERO
        else:
            amount = unexplained_cash(account, currency)
        if self.kind == DIVIDEND and amount <= ZERO:
            raise CommandRefused("bad_amount", f"a dividend adds cash, {amount} {currency} do not: say --amount")
        if self.kind == FEE and amount >= ZERO:
            raise CommandRefused("bad_amount", f"a fee takes cash, {amount} {currency} do not: say --amount")
        if not amount:
            raise CommandRefused("bad_amount", f"nothing in {currency} is unexplained: say --amount")
        return amount

    def _shares(self, state: DeskState, key: str, amount: Exact, rate: Exact) -> tuple[Share, ...]:
        """The books' parts in base currency."""
        with wide_context():
            base = Exact(amount * rate)
        if self.book is not None:
            return (Share(self.book, base),)
        if not self._is_split():
            return ()
        if self.kind != DIVIDEND:
            return split(base, {name: book.cash for name, book in state.ledger.books.items() if book.cash > ZERO}, ZERO)
        held = self._held_before(state, key)
        return split(base, held, state.ledger.account.baseline.get(key, ZERO))

    def _held_before(self, state: DeskState, key: str) -> dict[str, Exact]:
        """Shares of every book before the ex-date, or now."""
        if self.ex_date is None:
            return {name: book.held(key) for name, book in state.ledger.books.items() if book.held(key)}
        before = {name: state.tally.held.before(name, key, self.ex_date) for name in state.ledger.books}
        return {name: quantity for name, quantity in before.items() if quantity}

    def _position(self, state: State, key: str, amount: Exact, rate: Exact) -> tuple[Exact, tuple[Share, ...]]:
        """The shares that appeared or went, and the book's part of them with cash and cost."""
        quantity = number_of(self.quantity, "quantity") if self.quantity is not None else _differing(state, key)
        if not quantity:
            raise CommandRefused("bad_amount", f"nothing of {key} differs: say --quantity")
        if self.book is None:
            return quantity, ()
        with wide_context():
            base = Exact(amount * rate)
        holding = state.books[self.book].holdings.get(key)
        if quantity < ZERO and (holding is None or holding.quantity + quantity < ZERO):
            raise CommandRefused("not_held", f"{self.book} holds {holding.quantity if holding else 0} of {key}")
        if self.cost is not None:
            cost = number_of(self.cost, "cost")
        elif quantity < ZERO and holding is not None:
            cost = divide(holding.cost * quantity, holding.quantity)
        else:
            cost = Exact(-base)
        return quantity, (Share(self.book, base, quantity, cost),)


def split(amount: Exact, weights: Mapping[str, Exact], nobodys: Exact) -> tuple[Share, ...]:
    """An amount by weights, to the cent; what is left by rounding goes to the last, the part of `nobodys` weight to none.

    Raises `CommandRefused` if there is nobody to give it to.
    """
    found = {name: weight for name, weight in weights.items() if weight > ZERO}
    if not found:
        raise CommandRefused("nothing_held", "no book has a part in it: name one with --book")
    with wide_context():
        total = sum(found.values(), Decimal(0)) + max(nobodys, ZERO)
        parts = [rounded(divide(amount * weight, total), CENTS) for weight in found.values()]
        if nobodys <= ZERO:
            parts[-1] = Exact(amount - sum(parts[:-1], Decimal(0)))
    return tuple(Share(name, part) for name, part in zip(found, parts, strict=True))


def _is_day(text: str) -> bool:
    """Whether a text that looks like a date is one."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def unexplained_cash(account: Account, currency: str) -> Exact:
    """What the broker has of a currency beyond what the log explains; raises `CommandRefused` while that is unknown."""
    if account.cash is None or account.found is None:
        raise CommandRefused("not_reconciled", "it is not known what cash is unexplained: say --amount")
    with wide_context():
        return Exact(account.found.get(currency, ZERO) - account.cash.get(currency, ZERO))


def differing_shares(state: State, baseline: Mapping[str, Exact]) -> dict[str, Exact]:
    """Shares that the broker has beyond the books and a baseline, by key; raises `CommandRefused` while that is unknown."""
    found = state.account.positions
    if found is None:
        raise CommandRefused("not_reconciled", "it is not known what the broker holds: say --quantity")
    beyond = less(found, dict(baseline))
    for book in state.books.values():
        beyond = less(beyond, {key: holding.quantity for key, holding in book.holdings.items()})
    return beyond


def _differing(state: State, key: str) -> Exact:
    return differing_shares(state, state.account.baseline).get(key, ZERO)


def _base(state: State) -> str:
    """The desk's base currency; raises `CommandRefused` before there is a policy."""
    if state.policy is None:
        raise CommandRefused("not_started", "no policy is in force yet: start a run first")
    return state.policy.policy.base_currency
