"""How many orders a second the gate judges, with every rule on.

One evaluation is one order of a batch of ten on a book of 20 positions with ten orders at work: seven approved, three blocked by
the collar, by position, and by cash (with cash_reserve and gross_exposure), with reasons and `largest`; the observation is read
and the book valued once a batch. Beside it: what any gate has to do for the same batch, decoding the observation and encoding the
decisions, and, where it is installed (`make bench` does), nautilus-trader's RiskEngine on a batch of its own kind, which enforces
less: the table says what. A figure is the best of some rounds, as other work on the machine only slows it. Prints, never asserts
speed; the verdicts are checked.
"""

from dataclasses import asdict
from typing import Final

import _nautilus
from _table import Figure, parser, rate, report

from services.gate.books import BookView
from services.gate.market import observed_market
from services.gate.verdict import Judgement, judge
from shared.ledger.state import LedgerOrder, OrderState
from shared.protocol.envelope import canonical, decode
from shared.protocol.events import MarketObserved
from shared.protocol.market import ExchangeSession, Instrument, ProposedOrder, Quote, QuoteKind, Side
from shared.protocol.money import Exact
from shared.protocol.policy import Commission, Limits, Policy
from shared.protocol.reasons import Rule

AT: Final = "2022-10-03T14:30:00.000000Z"
BATCH: Final = 10
CALLS: Final = 25
POSITIONS: Final = (20, 1000)
FULL: Final = "S0018"
TARGET_PER_S: Final = 20_000
TARGET_RATIO: Final = 3

LIMITS: Final = Limits(
    max_trades_per_month=1000,
    max_order_notional=Exact(100_000),
    max_gross_pct=Exact(100),
    max_orders_per_day=500,
    max_daily_loss_pct=Exact(10),
    min_cash_pct=Exact(1),
    approval_above=Exact(500_000),
    foreign_currency="deny",
)
FEES: Final = Commission("USD", Exact("0.005"), Exact(1), Exact(1))


def name(index: int) -> str:
    """Symbol number `index`."""
    return f"S{index:04d}"


def policy(positions: int) -> Policy:
    """Every rule on, a universe of all names."""
    rows = tuple(Instrument(name(index), "SMART", "USD") for index in range(positions + BATCH))
    return Policy("USD", LIMITS, universe=rows, commission=(FEES,))


def observation(positions: int) -> MarketObserved:
    """A quote near 100 for every name."""
    quotes = tuple(
        Quote(
            name(index), "USD", QuoteKind.SIM, AT, bid=Exact("99.98"), ask=Exact("100.02"), last=Exact(100), close=Exact("99.5")
        )
        for index in range(positions + BATCH)
    )
    hours = ExchangeSession(True, "2022-10-03", "2022-10-03T13:30:00.000000Z", "2022-10-03T20:00:00.000000Z")
    return MarketObserved("verdict", quotes, {}, {}, {"SMART": hours})


def working(index: int) -> LedgerOrder:
    """An order at work: five BUYs, five SELLs of ten shares."""
    side = Side.BUY if index % 2 else Side.SELL
    price = Exact(99) if side is Side.BUY else Exact(101)
    order = f"20221003T1000-bench-1-{index + 1}"
    fields = (Exact(10), price, Exact(1), FEES, ("2022-10", "2022-10-03"))
    return LedgerOrder(order, "bench", "20221003T1000-bench-1", name(index), "USD", side, *fields, state=OrderState.WORKING)


def book(positions: int) -> BookView:
    """20 shares of each of the first names, 140 of `FULL`, a crumb of every further one, and 9,000 in cash."""
    shares = {name(index): Exact(20) if index < POSITIONS[0] else Exact("0.01") for index in range(positions)}
    return BookView(
        name="bench",
        cash=Exact(9_000),
        holdings={f"{symbol}:USD": Exact(140) if symbol == FULL else held for symbol, held in shares.items()},
        working=tuple(working(index) for index in range(BATCH)),
        others=(),
        peak=Exact(63_000),
        used_month=12,
        used_day=10,
        day_start=Exact(61_500),
        currencies=("USD",),
    )


def proposal() -> tuple[ProposedOrder, ...]:
    """Three SELLs and four BUYs that pass; a BUY off the collar, one into a full position, one that cash does not cover."""
    sells = tuple(ProposedOrder(name(index), "USD", "SELL", "5", "99.5", "rebalance") for index in (12, 14, 16))
    buys = tuple(ProposedOrder(name(index), "USD", "BUY", "10", "100.5", "rebalance") for index in (13, 15, 17, 19))
    blocked = ((name(11), "1", "110"), (FULL, "20", "100"), (name(11), "60", "100"))
    rest = tuple(ProposedOrder(symbol, "USD", "BUY", quantity, limit, "too much") for symbol, quantity, limit in blocked)
    return (*buys[:2], *rest, *sells, *buys[2:])


def check(judged: Judgement) -> None:
    """The batch is the one that the figure stands for."""
    blocked = {decision.index: tuple(why.rule for why in decision.reasons) for decision in judged.decisions if decision.reasons}
    wanted = {3: (Rule.PRICE_COLLAR,), 4: (Rule.POSITION,), 5: (Rule.CASH, Rule.CASH_RESERVE, Rule.GROSS_EXPOSURE)}
    if blocked != wanted or sum(decision.approved for decision in judged.decisions) != BATCH - len(wanted):
        raise SystemExit(f"not the batch that is to be measured: {judged.decisions}")


def measure(positions: int, rounds: int) -> tuple[float, float]:
    """Evaluations a second on a book of `positions`: ours, and those of a gate that has no rules at all."""
    rules, seen, held, orders = policy(positions), observation(positions), book(positions), proposal()
    judged = judge(rules, held, observed_market(AT, seen, rules), orders, run="20221003T1030-bench-1")
    check(judged)
    stored = canonical(seen)

    def ours() -> None:
        for _ in range(CALLS):
            judge(rules, held, observed_market(AT, seen, rules), orders, run="20221003T1030-bench-1")

    def bare() -> None:
        for _ in range(CALLS):
            decode(MarketObserved, stored)
            canonical(judged.decisions)

    return rate(ours, BATCH * CALLS, rounds), rate(bare, BATCH * CALLS, rounds)


def peer(rounds: int) -> list[Figure]:
    """nautilus-trader's RiskEngine, where it is installed."""
    judged = _nautilus.batches()
    if judged is None:
        return []

    def theirs() -> None:
        for _ in range(CALLS):
            judged()

    found = rate(theirs, BATCH * CALLS, rounds)
    return [Figure("nautilus-trader's RiskEngine, rules of its own", found, "evaluations/s")]


def show_rules() -> None:
    """Which rules each enforces."""
    width = max(len(row[0]) for row in _nautilus.ENFORCED)
    ours = max(len(row[1]) for row in _nautilus.ENFORCED)
    print()
    for rule, here, there in (("rule", "propdesk", "nautilus-trader's RiskEngine"), *_nautilus.ENFORCED):
        print(f"{rule.ljust(width)}  {here.ljust(ours)}  {there}")


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=60)
    given = options.parse_args()
    rates = {positions: measure(positions, given.rounds) for positions in POSITIONS}
    few, many = (rates[positions][0] for positions in POSITIONS)
    figures = [
        Figure(
            f"gate, {positions} positions", ours, "evaluations/s", bare, "decoding and encoding alone", f"≥ {TARGET_PER_S:,}/s"
        )
        for positions, (ours, bare) in rates.items()
    ]
    times = Figure(f"{POSITIONS[1]} positions slower by", few / many, "times", target=f"≤ {TARGET_RATIO}")
    rows = [figures[0], Figure(**{**asdict(figures[1]), "target": ""}), times, *peer(given.rounds)]
    report(rows, as_json=given.json)
    if not given.json:
        show_rules()


if __name__ == "__main__":
    main()
