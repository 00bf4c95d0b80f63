"""Books, markets, policies and batches in which every rule sometimes bites."""

from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st
from msgspec.structs import replace

from services.gate.books import BookView
from services.gate.market import Market, SessionView
from services.gate.rest import Rest
from services.gate.verdict import Judgement, judge
from shared.ledger.state import LedgerOrder, OrderState
from shared.protocol.instants import parse
from shared.protocol.market import Instrument, ProposedOrder, Quote, QuoteKind, Side
from shared.protocol.money import Exact
from shared.protocol.policy import AccountLimits, Commission, Limits, Policy

NOW = "2022-10-03T14:30:00.000000Z"
RUN = "20221003T1030-alpha-1"
SYMBOLS = ("AAA", "BBB", "CCC")
UNIVERSE = tuple(Instrument(symbol, "SMART", "EUR" if symbol == "CCC" else "USD") for symbol in SYMBOLS)
SESSIONS = {"SMART": SessionView(True, parse("2022-10-03T20:00:00.000000Z"))}


def hundredths(low: int, high: int) -> st.SearchStrategy[Exact]:
    """Amounts with two decimals, bounds in hundredths."""
    return st.integers(low, high).map(lambda cents: Exact(Decimal(cents) / 100))


def currency(symbol: str) -> str:
    return next(row.currency for row in UNIVERSE if row.symbol == symbol)


@dataclass(frozen=True)
class Case:
    """What a batch is judged on."""

    policy: Policy
    book: BookView
    market: Market
    prices: dict[str, Exact]
    rates: dict[str, Exact]

    def judge(self, *orders: ProposedOrder) -> Judgement:
        return judge(self.policy, self.book, self.market, orders, run=RUN)


@st.composite
def fees(draw: st.DrawFn, name: str) -> Commission:
    minimum, per_share = draw(hundredths(0, 300)), draw(hundredths(0, 20))
    return Commission(name, per_share, minimum, draw(st.sampled_from([Exact(1), Exact(20), Exact(100), Exact(0)])))


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    return Limits(
        max_position_pct=draw(st.sampled_from([Exact(100), Exact(25)]) | hundredths(1_000, 10_000)),
        max_trades_per_month=draw(st.sampled_from([100, 12, 3, 100])),
        max_commission_pct=draw(st.sampled_from([Exact(100), Exact(5), Exact(100), Exact("0.5")])),
        exits_exempt=draw(st.booleans()),
        max_order_notional=draw(st.none() | hundredths(30_000, 200_000)),
        max_gross_pct=draw(st.none() | hundredths(5_000, 10_000)),
        max_orders_per_day=draw(st.sampled_from([None, 100, 100, 5])),
        min_cash_pct=draw(st.none() | hundredths(0, 3_000)),
    )


@st.composite
def account_limits(draw: st.DrawFn) -> AccountLimits:
    """Off half of the time, each."""
    return AccountLimits(
        max_gross_pct=draw(st.none() | hundredths(1_000, 10_000)),
        max_position_pct=draw(st.none() | hundredths(500, 10_000)),
        max_orders_per_day=draw(st.sampled_from([None, 100, 100, 8])),
    )


@st.composite
def at_work(draw: st.DrawFn, index: int, fee: dict[str, Commission], book: str = "alpha") -> LedgerOrder:
    symbol, quantity = draw(st.sampled_from(SYMBOLS)), draw(st.integers(1, 12))
    name = currency(symbol)
    return LedgerOrder(
        id=f"o{index}",
        book=book,
        run=RUN,
        symbol=symbol,
        currency=name,
        side=draw(st.sampled_from(Side)),
        quantity=Exact(quantity),
        limit=draw(hundredths(4_950, 5_050)),
        fx=Exact(1) if name == "USD" else Exact("1.07"),
        schedule=fee[name],
        counted=("2022-10", "2022-10-03"),
        state=OrderState.WORKING,
        filled=Exact(draw(st.integers(0, quantity))),
    )


@st.composite
def cases(draw: st.DrawFn, cheap: bool = False) -> Case:
    """A case; prices are around 50, so that some cash buys some dozens of shares."""
    fee = {name: draw(fees(name)) for name in ("USD", "EUR")}
    rules = Policy("USD", draw(limits()), draw(account_limits()), universe=UNIVERSE, commission=tuple(fee.values()))
    prices = {symbol: draw(hundredths(4_980, 5_020)) for symbol in SYMBOLS}
    rates = {"EUR": draw(hundredths(90, 120)), "USD": Exact(1)}
    quotes = tuple(Quote(symbol, currency(symbol), QuoteKind.SIM, NOW, last=prices[symbol]) for symbol in SYMBOLS)
    own = tuple(draw(at_work(index, fee)) for index in range(draw(st.integers(0, 3))))
    others = tuple(draw(at_work(index + 10, fee, "beta")) for index in range(draw(st.integers(0, 2))))
    holdings = {f"{symbol}:{currency(symbol)}": Exact(draw(st.integers(0, 30))) for symbol in SYMBOLS}
    book = BookView(
        name="alpha",
        cash=draw(hundredths(100_000, 300_000) if cheap else hundredths(0, 3_000_000)),
        holdings={key: shares for key, shares in holdings.items() if shares},
        working=own,
        others=others,
        peak=Exact(0),
        used_month=draw(st.integers(0, 4)),
        used_day=draw(st.integers(0, 6)),
    )
    rest = Rest(
        cash=draw(hundredths(0, 3_000_000)),
        holdings={key: Exact(draw(st.integers(1, 60))) for key in draw(st.sets(st.sampled_from(sorted(holdings))))},
        used_day=draw(st.integers(0, 4)),
    )
    return Case(rules, replace(book, rest=rest), Market(NOW, quotes, rates, SESSIONS, rules), prices, rates)


@st.composite
def orders(draw: st.DrawFn, most: int = 60) -> ProposedOrder:
    """An order near the prices; one in ten is off the collar or has a fault of form."""
    symbol, side = draw(st.sampled_from(SYMBOLS)), draw(st.sampled_from(["BUY", "SELL", "buy"]))
    quantity, limit = str(draw(st.integers(1, most))), str(draw(hundredths(4_920, 5_080)))
    match draw(st.integers(0, 19)):
        case 18:
            quantity = draw(st.sampled_from(["1.5", "NaN", "0", "-1"]))
        case 19:
            limit = draw(st.sampled_from(["NaN", "0", "60"]))
    return ProposedOrder(symbol, currency(symbol), side, quantity, limit)
