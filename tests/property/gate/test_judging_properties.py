"""What holds of every batch on every book, checked by other arithmetic than the gate's own."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from services.gate.market import Market
from services.gate.verdict import judge
from shared.ledger.reservations import reserved_by
from shared.ledger.state import LedgerOrder
from shared.protocol.envelope import canonical, decode
from shared.protocol.events import Decision
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import Exact
from shared.protocol.policy import Commission
from tests.property.gate.strategies import NOW, RUN, SESSIONS, Case, cases, orders

BATCHES = st.lists(orders(), max_size=8)


def fee(case: Case, currency: str, quantity: Fraction, limit: Fraction) -> Fraction:
    """clamp(quantity × per_share, minimum, notional × maximum_pct / 100) in base currency, the maximum winning."""
    row = next(row for row in case.policy.commission if row.currency == currency)
    most = quantity * limit * Fraction(row.maximum_pct) / 100
    return min(max(quantity * Fraction(row.per_share), Fraction(row.minimum)), most)


def key_of(row: Decision | LedgerOrder) -> str:
    return f"{row.symbol}:{row.currency}"


def numbers(decision: Decision) -> tuple[Fraction, Fraction, Fraction]:
    """Quantity, limit and rate of an approved order."""
    assert decision.quantity is not None
    assert decision.limit is not None
    assert decision.fx is not None
    return Fraction(decision.quantity), Fraction(decision.limit), Fraction(decision.fx)


class Follow:
    """The book, carried along by hand."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.held = {key: Fraction(shares) for key, shares in case.book.holdings.items()}
        self.price = {key: Fraction(price) for key, price in self._prices()}
        worth = sum((shares * self.price[key] * self.rate(key) for key, shares in self.held.items()), Fraction(0))
        self.value = Fraction(case.book.cash) + worth
        self.exposure = worth
        self.free = Fraction(case.book.cash)
        self.used = case.book.used_month
        self.waiting: dict[str, Fraction] = {}
        self.selling: dict[str, Fraction] = {}
        for order in case.book.working:
            self._reserve(order)

    def _prices(self) -> list[tuple[str, Exact]]:
        return [(f"{symbol}:{'EUR' if symbol == 'CCC' else 'USD'}", price) for symbol, price in self.case.prices.items()]

    def rate(self, key: str) -> Fraction:
        return Fraction(self.case.rates[key[-3:]])

    def _reserve(self, order: LedgerOrder) -> None:
        key, left = key_of(order), Fraction(order.quantity - order.filled)
        if order.side is Side.SELL:
            self.selling[key] = self.selling.get(key, Fraction(0)) + left
            return
        self.waiting[key] = self.waiting.get(key, Fraction(0)) + left
        limit = Fraction(order.limit)
        self.free -= (left * limit + (fee(self.case, order.currency, left, limit) if left else 0)) * Fraction(order.fx)
        self.exposure += left * max(limit, self.price[key]) * self.rate(key)

    def check(self, decision: Decision) -> None:
        """An approved order keeps within every limit; then it is carried out."""
        limits, key = self.case.policy.limits, key_of(decision)
        quantity, limit, rate = numbers(decision)
        price, cost = self.price[key], fee(self.case, decision.currency, quantity, limit) * rate
        assert quantity > 0
        assert quantity.denominator == 1
        assert abs(limit - price) * 100 <= 2 * price
        assert Fraction(decision.notional or 0) == quantity * limit * rate
        assert Fraction(decision.commission or 0) == cost
        if limits.max_order_notional is not None:
            assert quantity * max(limit, price) * rate <= Fraction(limits.max_order_notional)
        if decision.side == "SELL":
            self.sell(key, quantity, limit, rate, cost)
        else:
            self.buy(key, quantity, limit, rate, cost)
        self.used += 1

    def sell(self, key: str, quantity: Fraction, limit: Fraction, rate: Fraction, cost: Fraction) -> None:
        assert quantity <= self.held.get(key, 0) - self.selling.get(key, 0)
        self.held[key] -= quantity
        self.free += quantity * limit * rate - cost
        self.exposure -= quantity * self.price[key] * rate

    def buy(self, key: str, quantity: Fraction, limit: Fraction, rate: Fraction, cost: Fraction) -> None:
        limits, price = self.case.policy.limits, self.price[key]
        assert self.used < limits.max_trades_per_month
        self.free -= quantity * limit * rate + cost
        assert self.free >= 0
        if limits.min_cash_pct is not None:
            assert self.free * 100 >= Fraction(limits.min_cash_pct) * self.value
        self.held[key] = self.held.get(key, Fraction(0)) + quantity
        worth = (self.held[key] + self.waiting.get(key, 0)) * price * rate
        assert worth * 100 <= Fraction(limits.max_position_pct) * (self.value - cost)
        self.exposure += quantity * max(limit, price) * rate
        if limits.max_gross_pct is not None:
            assert self.exposure * 100 <= Fraction(limits.max_gross_pct) * self.value
        assert cost * 100 <= Fraction(limits.max_commission_pct) * quantity * limit * rate


@given(cases(), BATCHES)
def test_no_approved_batch_exceeds_a_limit_reservations_included(case: Case, batch: list[ProposedOrder]) -> None:
    follow = Follow(case)
    result = case.judge(*batch)

    for decision in result.decisions:
        if decision.approved:
            follow.check(decision)

    after = result.after()
    assert {key: Fraction(shares) for key, shares in after.holdings.items()} == {k: v for k, v in follow.held.items() if v}
    assert after.used_month == follow.used
    assert Fraction(result.value or 0) == follow.value


@given(cases(), BATCHES)
def test_every_proposed_order_gets_one_decision_sells_first(case: Case, batch: list[ProposedOrder]) -> None:
    decisions = case.judge(*batch).decisions
    sells = [index for index, order in enumerate(batch, 1) if order.side.upper() == "SELL"]
    buys = [index for index, order in enumerate(batch, 1) if order.side.upper() != "SELL"]

    assert [decision.index for decision in decisions] == sells + buys
    assert all(decision.approved != bool(decision.reasons) for decision in decisions)
    assert all((decision.largest is None) == decision.approved for decision in decisions)


@given(cases(), BATCHES, st.sampled_from(["AAA", "BBB", "CCC"]), st.booleans())
def test_nothing_unknown_is_ever_approved(case: Case, batch: list[ProposedOrder], symbol: str, rate: bool) -> None:
    quotes = [quote for quote in case.market.quotes.values() if rate or quote.symbol != symbol]
    rates = {"USD": Exact(1)} if rate else case.rates
    missing = "CCC" if rate else symbol
    result = judge(case.policy, case.book, Market(NOW, quotes, rates, SESSIONS, case.policy), batch, run=RUN)

    assert not [decision for decision in result.decisions if decision.approved and decision.symbol == missing]
    if any(key.startswith(missing) for key in case.book.holdings):
        assert result.value is None
        assert not [decision for decision in result.decisions if decision.approved and decision.side == "BUY"]


TEXT = st.text(max_size=12) | st.sampled_from(
    ["AAA", "USD", "BUY", "SELL", "SMART", "1e30", "-0", "1e-30", "9" * 40, "0.00000001"]
)
ANYTHING = st.builds(
    ProposedOrder,
    symbol=TEXT,
    currency=TEXT,
    side=TEXT,
    quantity=st.none() | TEXT,
    limit=st.none() | TEXT,
    reason=TEXT,
    exchange=st.none() | TEXT,
)


@given(cases(), st.lists(ANYTHING, max_size=5))
def test_whatever_is_proposed_is_judged(case: Case, batch: list[ProposedOrder]) -> None:
    for decision in case.judge(*batch).decisions:
        assert decode(Decision, canonical(decision)) == decision


@given(
    st.integers(1, 10**17 - 1),
    st.integers(1, 10**17 - 1),
    st.integers(1, 10**18 - 1),
    st.integers(0, 10**23 - 1),
    st.integers(0, 10**10),
)
def test_what_can_be_approved_can_be_reserved(quantity: int, limit: int, rate: int, per_share: int, pct: int) -> None:
    def exact(digits: int, decimals: int) -> Exact:
        return Exact(f"{digits}e-{decimals}")

    row = Commission("EUR", exact(per_share, 8), exact(per_share, 8), exact(pct, 8))
    order = LedgerOrder(
        "o", "alpha", RUN, "CCC", "EUR", Side.BUY, exact(quantity, 8), exact(limit, 8), exact(rate, 12), row, ("", "")
    )

    assert reserved_by(order) >= order.quantity * 0
