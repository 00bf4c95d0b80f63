"""nautilus-trader's RiskEngine on the same kind of batch: ten orders of which seven pass and three are denied, on a cash account.

Its rules are others than ours (see `ENFORCED`), so the three are denied for what it can see: a price of too many decimals, an
order over the largest notional, and one that the free balance does not cover. Only `make bench` installs it.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

BATCH: Final = 10
PASSING: Final = 7
NAMES: Final = 30
FULL: Final = 18
RATE: Final = "100000000/00:00:01"

ENFORCED: Final = (
    ("limit price above 0, whole lots, number within bounds", "yes", "yes (precision, minimum and maximum of the instrument)"),
    ("instrument known", "yes (universe, exchange)", "yes (cache)"),
    ("quote there, fresh, of an admitted kind", "yes", "no"),
    ("exchange open, 15 minutes left", "yes", "no"),
    ("FX known", "yes", "for a balance in another currency"),
    ("price collar", "yes", "no"),
    ("orders a month and a day, book and account", "yes", "no (orders a second)"),
    ("commission's share", "yes", "no"),
    ("no shorting: SELL within what is held and not reserved", "yes", "cash accounts, without other SELLs at work"),
    ("cash with commission, less reservations", "yes", "free balance, without commission"),
    ("cash reserve", "yes", "no"),
    ("position's share of value, book and account", "yes", "no"),
    ("largest notional of an order", "yes", "yes"),
    ("gross exposure, book and account", "yes", "no"),
    ("duplicates, trades with oneself", "yes", "no"),
    ("drawdown, daily loss, halts, failed reconciliation", "yes", "trading state ACTIVE, REDUCING, HALTED set from outside"),
    ("reason with limit, value, headroom; largest quantity that passes", "yes", "one text"),
)
"""What is enforced: the rule, by this gate, by nautilus-trader's RiskEngine (read from its code and documentation)."""


def batches() -> Callable[[], None] | None:
    """A call that judges one batch, None where nautilus-trader is not installed; raises `SystemExit` if it judges otherwise."""
    try:
        import nautilus_trader  # noqa: F401
    except ImportError:
        return None
    engine, commands, seen = _engine()

    def judge() -> None:
        for command in commands:
            engine.execute(command)

    judge()
    if (seen["passed"], seen["denied"]) != (PASSING, BATCH - PASSING):
        raise SystemExit(f"nautilus-trader judged the batch otherwise: {seen}")
    return judge


def _engine() -> tuple[Any, list[Any], dict[str, int]]:
    """A risk engine that counts what it lets through, and the commands of one batch."""
    from nautilus_trader.cache.cache import Cache
    from nautilus_trader.common.component import MessageBus, TestClock
    from nautilus_trader.model.identifiers import InstrumentId, TraderId
    from nautilus_trader.portfolio.portfolio import Portfolio
    from nautilus_trader.risk.config import RiskEngineConfig
    from nautilus_trader.risk.engine import RiskEngine

    clock, trader = TestClock(), TraderId("BENCH-001")
    bus = MessageBus(trader, clock)
    cache = Cache()
    portfolio = Portfolio(bus, cache, clock)
    largest = {str(InstrumentId.from_str(f"S{index:04d}.SIM")): 6_500 if index == FULL else 20_000 for index in range(NAMES)}
    config = RiskEngineConfig(max_order_submit_rate=RATE, max_order_modify_rate=RATE, max_notional_per_order=largest)
    engine = RiskEngine(portfolio, bus, cache, clock, config)
    seen = {"passed": 0, "denied": 0}

    def passed(_: object) -> None:
        seen["passed"] += 1

    def denied(_: object) -> None:
        seen["denied"] += 1

    bus.register("ExecEngine.execute", passed)
    bus.register("ExecEngine.process", denied)
    return engine, _commands(cache, portfolio, clock, trader), seen


def _commands(cache: Any, portfolio: Any, clock: Any, trader: Any) -> list[Any]:
    """Instruments, quotes, a cash account of 9,000, and the orders of one batch."""
    from nautilus_trader.common.factories import OrderFactory
    from nautilus_trader.core.uuid import UUID4
    from nautilus_trader.execution.messages import SubmitOrder
    from nautilus_trader.model.enums import OrderSide
    from nautilus_trader.model.identifiers import InstrumentId, StrategyId
    from nautilus_trader.model.objects import Price, Quantity

    strategy = StrategyId("S-001")
    _market(cache, portfolio)
    orders = OrderFactory(trader, strategy, clock)
    rows = [(13, "10", "100.50"), (15, "10", "100.50"), (11, "1", "100.505"), (18, "66", "100.00"), (11, "64", "141.00")]
    rows += [(index, "10", "99.50") for index in (12, 14, 16)] + [(17, "10", "100.50"), (19, "10", "100.50")]
    made = [
        orders.limit(InstrumentId.from_str(f"S{index:04d}.SIM"), OrderSide.BUY, Quantity.from_str(size), Price.from_str(limit))
        for index, size, limit in rows
    ]
    return [SubmitOrder(trader, strategy, order, UUID4(), 0) for order in made]


def _market(cache: Any, portfolio: Any) -> None:
    """Thirty names near 100 and an account with cash."""
    from nautilus_trader.core.uuid import UUID4
    from nautilus_trader.model.currencies import USD
    from nautilus_trader.model.data import QuoteTick
    from nautilus_trader.model.enums import AccountType
    from nautilus_trader.model.events import AccountState
    from nautilus_trader.model.identifiers import AccountId, InstrumentId, Symbol
    from nautilus_trader.model.instruments import Equity
    from nautilus_trader.model.objects import AccountBalance, Money, Price, Quantity

    for index in range(NAMES):
        name = InstrumentId.from_str(f"S{index:04d}.SIM")
        cache.add_instrument(Equity(name, Symbol(name.symbol.value), USD, 2, Price.from_str("0.01"), Quantity.from_int(1), 0, 0))
        size = Quantity.from_int(100)
        cache.add_quote_tick(QuoteTick(name, Price.from_str("99.98"), Price.from_str("100.02"), size, size, 0, 0))
    cash = Money(Decimal(9_000), USD)
    balance = AccountBalance(cash, Money(0, USD), cash)
    portfolio.update_account(AccountState(AccountId("SIM-001"), AccountType.CASH, USD, True, [balance], [], {}, UUID4(), 0, 0))
