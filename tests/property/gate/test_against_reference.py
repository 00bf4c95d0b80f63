"""Every batch against a second gate that was written from the specification alone, and `largest` against brute force by it."""

import dataclasses
from collections.abc import Iterator
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from services.gate.books import BookView
from services.gate.rest import Rest
from shared.ledger.state import LedgerOrder, OrderState
from shared.protocol.envelope import canonical
from shared.protocol.events import Decision
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import Exact
from tests.property.gate.reference import Reference
from tests.property.gate.strategies import RUN, Case, cases, currency, hundredths, orders

BATCHES = st.lists(orders(), max_size=8)
MOST = 75
"""More shares than 3,000 in cash buy and than are held at prices of 48.50 and more, rates of 0.9 and more."""


def reference(case: Case) -> Reference:
    """The other gate on the same book."""
    book = case.book
    found = Reference(
        policy=case.policy,
        name=book.name,
        cash=Fraction(book.cash),
        held={key: Fraction(shares) for key, shares in book.holdings.items()},
        price={f"{symbol}:{currency(symbol)}": Fraction(price) for symbol, price in case.prices.items()},
        rates={name: Fraction(rate) for name, rate in case.rates.items()},
        used_month=book.used_month,
        used_day=book.used_day,
        rest_cash=Fraction(book.rest.cash),
        rest_held={key: Fraction(shares) for key, shares in book.rest.holdings.items()},
        rest_day=book.rest.used_day,
    )
    found.take((*book.working, *book.others))
    return found


def key_of(row: Decision | ProposedOrder | LedgerOrder) -> str:
    return f"{row.symbol}:{row.currency}"


def well_formed(order: ProposedOrder) -> bool:
    """A positive whole quantity and a positive limit: what form asks for."""
    try:
        return Fraction(order.quantity or 0) > 0 < Fraction(order.limit or 0) and Fraction(order.quantity or 0).denominator == 1
    except ValueError:
        return False


def judged(case: Case, batch: list[ProposedOrder]) -> Iterator[tuple[Decision, set[str], Reference]]:
    """Each decision with the rules that the other gate finds, which has been told of every approval before."""
    other = reference(case)
    for decision in case.judge(*batch).decisions:
        proposed = batch[decision.index - 1]
        if not well_formed(proposed):
            assert not decision.approved
            continue
        numbers = Fraction(proposed.quantity or 0), Fraction(proposed.limit or 0)
        found = other.fails(key_of(decision), decision.side, *numbers)
        yield decision, found, other
        if decision.approved:
            other.apply(key_of(decision), decision.side, *numbers)


@given(cases(), BATCHES)
def test_exactly_the_rules_block_that_the_specification_names(case: Case, batch: list[ProposedOrder]) -> None:
    for decision, found, _ in judged(case, batch):
        assert {why.rule.value for why in decision.reasons} == found
        assert decision.approved is not bool(found)


@given(cases(cheap=True), st.lists(orders(most=20), max_size=3), orders(most=MOST))
def test_largest_passes_and_no_other_quantity_above_it_does(
    case: Case, before: list[ProposedOrder], order: ProposedOrder
) -> None:
    batch = [*(replace(row, side=order.side) for row in before), order]
    for decision, found, other in judged(case, batch):
        if decision.approved or not found:
            continue
        limit = Fraction(batch[decision.index - 1].limit or 0)
        passing = [
            shares for shares in range(1, MOST) if not other.fails(key_of(decision), decision.side, Fraction(shares), limit)
        ]
        assert decision.largest == max(passing, default=0)


@given(cases(), BATCHES)
def test_blocked_orders_change_nothing_for_those_behind_them(case: Case, batch: list[ProposedOrder]) -> None:
    whole = [decision for decision in case.judge(*batch).decisions if decision.approved]
    kept = sorted(decision.index for decision in whole)
    alone = [decision for decision in case.judge(*(batch[index - 1] for index in kept)).decisions if decision.approved]

    assert [(row.symbol, row.side, row.quantity, row.limit) for row in alone] == [
        (row.symbol, row.side, row.quantity, row.limit) for row in whole
    ]


@given(cases(), BATCHES)
def test_no_input_is_ever_modified(case: Case, batch: list[ProposedOrder]) -> None:
    def seen() -> tuple[bytes, ...]:
        market = case.market
        return (
            canonical(case.policy),
            repr(case.book).encode(),
            repr((market.quotes, market.rates, market.sessions, market.at)).encode(),
            canonical(batch),
        )

    before = seen()
    first = case.judge(*batch)
    first.after()
    assert seen() == before
    assert case.judge(*batch).decisions == first.decisions


class Account:
    """Several books that propose one after another; what is approved stays at work for those behind."""

    def __init__(self, case: Case, cash: tuple[Exact, ...]) -> None:
        self.case = case
        self.cash = {f"book{index}": amount for index, amount in enumerate(cash)}
        self.orders: list[LedgerOrder] = list(case.book.others)
        self.used = dict.fromkeys(self.cash, 0)

    def propose(self, name: str, batch: list[ProposedOrder]) -> None:
        """One book's batch judged; approved orders go to work."""
        others = tuple(order for order in self.orders if order.book != name)
        rest = Rest(
            Exact(sum((amount for other, amount in self.cash.items() if other != name), Exact(0))),
            {},
            sum(used for other, used in self.used.items() if other != name),
        )
        own = tuple(order for order in self.orders if order.book == name)
        book = replace(
            self.case.book, name=name, cash=self.cash[name], holdings={}, working=own, others=others, used_day=self.used[name],
            used_month=self.used[name], rest=rest,
        )  # fmt: skip
        for decision in replace_book(self.case, book).judge(*batch).decisions:
            if decision.approved:
                assert decision.quantity is not None
                assert decision.limit is not None
                self._work(name, decision, decision.quantity, decision.limit)

    def _work(self, name: str, decision: Decision, quantity: Exact, limit: Exact) -> None:
        fields = (Exact(quantity), Exact(limit), Exact(1), self.case.policy.schedule(decision.currency), ("", ""))
        order = LedgerOrder(
            f"{name}-{len(self.orders)}", name, RUN, decision.symbol, decision.currency, Side(decision.side), *fields
        )
        self.orders.append(replace(order, state=OrderState.APPROVED, fx=Exact(self.case.rates[decision.currency])))
        self.used[name] += 1

    def check(self) -> None:
        """The sum of all books keeps within every limit of the account."""
        limits, case = self.case.policy.account, self.case
        price = {f"{symbol}:{currency(symbol)}": Fraction(found) for symbol, found in case.prices.items()}
        value = sum((Fraction(amount) for amount in self.cash.values()), Fraction(0))
        waiting: dict[str, Fraction] = {}
        gross = Fraction(0)
        for order in (order for order in self.orders if order.side is Side.BUY):
            left, rate = Fraction(order.quantity - order.filled), Fraction(case.rates[order.currency])
            waiting[key_of(order)] = waiting.get(key_of(order), Fraction(0)) + left * rate
            gross += left * max(Fraction(order.limit), price[key_of(order)]) * rate
        if limits.max_gross_pct is not None and any(self.used.values()):
            assert gross * 100 <= Fraction(limits.max_gross_pct) * value
        if limits.max_position_pct is not None:
            for order in self.orders[len(case.book.others) :]:
                assert waiting[key_of(order)] * price[key_of(order)] * 100 <= Fraction(limits.max_position_pct) * value
        if limits.max_orders_per_day is not None:
            assert sum(self.used.values()) <= limits.max_orders_per_day


def replace_book(case: Case, book: BookView) -> Case:
    """The case with another book."""
    return dataclasses.replace(case, book=book)


@given(cases(), st.tuples(hundredths(0, 1_000_000), hundredths(0, 1_000_000), hundredths(0, 1_000_000)), st.data())
def test_no_sequence_of_batches_of_several_books_exceeds_a_limit_of_the_account(
    case: Case, cash: tuple[Exact, Exact, Exact], data: st.DataObject
) -> None:
    account = Account(case, cash)
    for name in data.draw(st.lists(st.sampled_from(sorted(account.cash)), max_size=5)):
        account.propose(name, data.draw(st.lists(orders(), max_size=4)))
        account.check()
