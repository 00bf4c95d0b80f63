"""The gate once more, written from its specification alone, in fractions and without any of its code.

It judges orders of a batch in order on a book beside other books: which rules of the groups limits and account block. Quotes are
fresh, exchanges open and fees known here; form is judged by the caller.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from shared.ledger.state import LedgerOrder
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.policy import Policy

ZERO = Fraction(0)


@dataclass
class Working:
    """An order at work: shares still to come, and the quantity and limit it was placed with."""

    book: str
    key: str
    buys: bool
    quantity: Fraction
    left: Fraction
    limit: Fraction


@dataclass
class Reference:
    """One book beside the account's others. Cash and values in base currency, shares by instrument key."""

    policy: Policy
    name: str
    cash: Fraction
    held: dict[str, Fraction]
    price: dict[str, Fraction]
    rates: dict[str, Fraction]
    used_month: int
    used_day: int
    rest_cash: Fraction = ZERO
    rest_held: dict[str, Fraction] = field(default_factory=dict)
    rest_day: int = 0
    working: list[Working] = field(default_factory=list)
    value: Fraction = ZERO
    account_value: Fraction = ZERO

    def __post_init__(self) -> None:
        """Value book and account once, before the batch."""
        self.value = self.cash + self.worth(self.held)
        self.account_value = self.value + self.rest_cash + self.worth(self.rest_held)

    def take(self, orders: Iterable[LedgerOrder]) -> None:
        """Orders at work before the batch, of any book."""
        for row in orders:
            left = Fraction(row.quantity - row.filled)
            key = f"{row.symbol}:{row.currency}"
            self.working.append(Working(row.book, key, row.side is Side.BUY, Fraction(row.quantity), left, Fraction(row.limit)))

    def rate(self, key: str) -> Fraction:
        return self.rates[key.rpartition(":")[2]]

    def worth(self, held: dict[str, Fraction]) -> Fraction:
        return sum((shares * self.price[key] * self.rate(key) for key, shares in held.items()), ZERO)

    def fee(self, key: str, quantity: Fraction, limit: Fraction) -> Fraction:
        """clamp(quantity × per_share, minimum, notional × maximum_pct / 100), the maximum winning, in base currency."""
        row = next(row for row in self.policy.commission if row.currency == key.rpartition(":")[2])
        most = quantity * limit * Fraction(row.maximum_pct) / 100
        return min(max(quantity * Fraction(row.per_share), Fraction(row.minimum)), most) * self.rate(key)

    def own(self, key: str | None = None, *, buys: bool) -> list[Working]:
        return [row for row in self.all(key, buys=buys) if row.book == self.name]

    def all(self, key: str | None = None, *, buys: bool) -> list[Working]:
        return [row for row in self.working if row.buys is buys and key in {None, row.key}]

    def free(self) -> Fraction:
        """Cash less reservations: remaining × limit × FX + commission on the remainder; a batch's SELLs have added theirs."""
        bound = ZERO
        for row in self.own(buys=True):
            if row.left:
                bound += row.left * row.limit * self.rate(row.key) + self.fee(row.key, row.left, row.limit)
        return self.cash - bound

    def exposure(self, working: list[Working], held: dict[str, Fraction]) -> Fraction:
        """Σ holdings at reference + Σ remaining BUYs at the larger of limit and reference price."""
        pending = sum((row.left * max(row.limit, self.price[row.key]) * self.rate(row.key) for row in working), ZERO)
        return self.worth(held) + pending

    def fails(self, key: str, side: str, quantity: Fraction, limit: Fraction) -> set[str]:
        """The rules of limits and account that block an order of a positive quantity and limit."""
        limits, account = self.policy.limits, self.policy.account
        price, rate, cost = self.price[key], self.rate(key), self.fee(key, quantity, limit)
        exempt = side == "SELL" and limits.exits_exempt and self.held.get(key, ZERO) > 0
        found = {
            "price_collar": abs(limit - price) * 100 > Fraction(limits.max_price_deviation_pct) * price,
            "monthly_orders": self.used_month + 1 > limits.max_trades_per_month and not exempt,
            "daily_orders": not exempt
            and (_over(self.used_day + 1, limits.max_orders_per_day) or _over(self._account_day(), account.max_orders_per_day)),
            "commission_share": not exempt and cost * 100 > Fraction(limits.max_commission_pct) * quantity * limit * rate,
            "order_notional": _over(quantity * max(limit, price) * rate, limits.max_order_notional),
            "duplicate": any((row.quantity, row.limit) == (quantity, limit) for row in self.own(key, buys=side == "BUY")),
        }
        found |= self._buy(key, quantity, limit, cost) if side == "BUY" else self._sell(key, quantity)
        return {rule for rule, fault in found.items() if fault}

    def _account_day(self) -> int:
        return self.used_day + self.rest_day + 1

    def _sell(self, key: str, quantity: Fraction) -> dict[str, bool]:
        reserved = sum((row.left for row in self.own(key, buys=False)), ZERO)
        return {"holding": quantity > self.held.get(key, ZERO) - reserved}

    def _buy(self, key: str, quantity: Fraction, limit: Fraction, cost: Fraction) -> dict[str, bool]:
        limits, account = self.policy.limits, self.policy.account
        rate, more = self.rate(key), quantity * max(limit, self.price[key]) * self.rate(key)
        after = self.free() - quantity * limit * rate - cost
        mine = self.held.get(key, ZERO) + sum((row.left for row in self.own(key, buys=True)), ZERO)
        theirs = self.rest_held.get(key, ZERO) + sum((row.left for row in self._theirs(key)), ZERO)
        worth = (mine + quantity) * self.price[key] * rate
        whole = (mine + theirs + quantity) * self.price[key] * rate
        gross = self.exposure(self.own(buys=True), self.held) + more
        together = gross + self.exposure(self._theirs(), self.rest_held)
        return {
            "cash": after < 0,
            "cash_reserve": limits.min_cash_pct is not None and after * 100 < Fraction(limits.min_cash_pct) * self.value,
            "position": _above(worth, limits.max_position_pct, self.value - cost)
            or _above(whole, account.max_position_pct, self.account_value - cost),
            "gross_exposure": _above(gross, limits.max_gross_pct, self.value)
            or _above(together, account.max_gross_pct, self.account_value),
            "self_trade": any(row.limit <= limit for row in self.all(key, buys=False)),
        }

    def _theirs(self, key: str | None = None) -> list[Working]:
        return [row for row in self.all(key, buys=True) if row.book != self.name]

    def apply(self, key: str, side: str, quantity: Fraction, limit: Fraction) -> None:
        """An approved order: a BUY is at work from here on, a SELL has its effect on cash and shares at once."""
        buys = side == "BUY"
        if not buys:
            self.cash += quantity * limit * self.rate(key) - self.fee(key, quantity, limit)
            self.held[key] -= quantity
        self.used_month, self.used_day = self.used_month + 1, self.used_day + 1
        self.working.append(Working(self.name, key, buys, quantity, quantity if buys else ZERO, limit))


def _over(value: Fraction | int, limit: Exact | int | None) -> bool:
    """Over a limit that may be off."""
    return limit is not None and value > Fraction(limit)


def _above(part: Fraction, pct: Exact | None, whole: Fraction) -> bool:
    """part ÷ whole × 100 > pct; a whole that is not above 0 blocks."""
    return pct is not None and (whole <= 0 or part * 100 > Fraction(pct) * whole)
