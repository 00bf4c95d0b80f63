"""The broker is a fold of its file: the same bytes give the same books, and books are sound whatever is asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.simulator.account import free_cash
from services.simulator.broker import Broker
from services.simulator.exchange import Exchange
from services.simulator.journal_file import NAME, JournalError, JournalFile, JournalMismatch
from services.simulator.orders import Advance, Cancel, Place, Session, Terms
from services.simulator.prices import load_prices
from shared.protocol.market import Side
from shared.protocol.money import Exact
from tests.unit.simulator.worlds import HEADER, MONDAY, TUESDAY, WEDNESDAY, price_file

ROWS = """
2022-10-03,A,98,101,97,100,5000
2022-10-03,B,,,,20.123,
2022-10-04,A,50,52,49,51,1005
2022-10-04,B,,,,19.5,
2022-10-05,B,,,,21,
"""
DAYS = [MONDAY, TUESDAY, WEDNESDAY]
STEPS = [(day, at, step) for day in DAYS for at, step in (("14:30", "slot"), ("20:00", "close"))]

prices = st.sampled_from(["0.01", "19.49", "19.51", "20.13", "49", "50", "50.01", "50.02", "60", "99.5", "1000", "1.001"])
places = st.builds(
    Place,
    client=st.just("test"),
    ref=st.sampled_from(["r1", "r2"]),
    symbol=st.sampled_from(["A", "B", "ZZZ"]),
    currency=st.just("USD"),
    side=st.sampled_from(Side),
    quantity=st.integers(0, 700).map(Exact),
    limit=prices.map(Exact),
)
cancels = st.integers(1, 12).map(Cancel)


@st.composite
def histories(draw) -> list[Advance | Place | Cancel]:
    """Steps in order, some left out, with orders and cancels between them."""
    commands: list[Advance | Place | Cancel] = []
    for day, at, step in STEPS:
        if draw(st.booleans()):
            session = Session(DAYS.index(day), day, f"{day}T13:30:00.000000Z", f"{day}T20:00:00.000000Z")
            commands.append(Advance(f"{day}T{at}:00.000000Z", step, session))  # type: ignore[arg-type]
        commands.extend(draw(st.lists(places | cancels, max_size=5)))
    return commands


@contextmanager
def broker_in(folder: Path, terms: Terms | None = None, rows: str = ROWS) -> Iterator[Broker]:
    """A broker whose files are in `folder`."""
    journal = JournalFile.open(folder / "broker")
    try:
        yield Broker(Exchange(price_file(folder, rows), terms or Terms(cash=Exact(30_000))), journal)
    finally:
        journal.close()


@given(histories())
def test_a_restart_gives_the_same_books_from_the_same_bytes(commands):
    with TemporaryDirectory() as name:
        folder = Path(name)
        with broker_in(folder) as broker:
            for command in commands:
                broker.submit(command)
        before = (folder / "broker" / NAME).read_bytes()
        with broker_in(folder) as again:
            assert again.state == broker.state
            assert again.orders == broker.orders
            assert again.executions == broker.executions
            assert again.with_ref("r1") == broker.with_ref("r1")
        assert (folder / "broker" / NAME).read_bytes() == before


@given(histories())
def test_books_are_sound_after_every_command(commands):
    with TemporaryDirectory() as name, broker_in(Path(name)) as broker:
        for command in commands:
            broker.submit(command)
            check(broker)


def check(broker: Broker) -> None:
    """Cash and shares are what executions made of them; nothing is short, borrowed or outside its bar."""
    cash, shares = Decimal(30_000), {"A": Decimal(0), "B": Decimal(0)}
    filled: dict[int, Decimal] = {}
    for number, fill in enumerate(broker.executions, 1):
        sign = 1 if fill.side is Side.BUY else -1
        cash -= sign * fill.quantity * fill.price + fill.fee
        shares[fill.symbol] += sign * fill.quantity
        filled[fill.perm_id] = filled.get(fill.perm_id, Decimal(0)) + fill.quantity
        order = broker.orders[fill.perm_id]
        bar = broker.exchange.file.bar(fill.symbol, DAYS.index(fill.at[:10]))
        assert bar is not None
        assert fill.n == number
        assert sign * fill.price <= sign * order.limit
        assert (bar.low or bar.close) <= fill.price <= (bar.high or bar.close)
        assert min(shares.values()) >= 0
        assert bar.volume is None or filled[fill.perm_id] <= bar.volume / 10
    assert broker.state.cash == {"USD": cash}
    assert broker.state.positions == {symbol: held for symbol, held in shares.items() if held}
    assert free_cash(broker.exchange, broker.state) >= 0
    for order in broker.orders.values():
        assert order.filled == filled.get(order.perm_id, 0)
        assert order.filled + order.remaining == order.quantity
        assert (order in broker.state.working) is (order.status == "working")


def test_what_changes_nothing_leaves_no_line(tmp_path):
    with broker_in(tmp_path) as broker:
        path = tmp_path / "broker" / NAME
        before = path.read_bytes()
        broker.submit(Cancel(1))
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("terms", "rows", "words"),
    [
        (Terms(cash=Exact(30_001)), ROWS, 'cash was "30000", now "30001"'),
        (Terms(base_currency="AUD", cash=Exact(30_000), fx={"USD": Exact("1.5")}), ROWS, 'base_currency was "USD", now "AUD"'),
        (None, ROWS.replace("20.123", "20.124"), "data_sha256 was "),
        (None, ROWS + "2022-10-06,B,,,,21,", 'last_session was "2022-10-05", now "2022-10-06"'),
    ],
)
def test_a_file_that_was_begun_otherwise_is_refused_and_left_alone(tmp_path, terms, rows, words):
    with broker_in(tmp_path):
        pass
    before = (tmp_path / "broker" / NAME).read_bytes()
    with pytest.raises(JournalMismatch, match=words), broker_in(tmp_path, terms, rows):
        pass
    assert (tmp_path / "broker" / NAME).read_bytes() == before


def test_the_same_file_under_another_calendar_is_refused(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text(HEADER + "2022-10-03,A,,,,5,\n2022-10-04,A,,,,5,\n2022-10-05,A,,,,5,\n")
    journal = JournalFile.open(tmp_path)
    Broker(Exchange(load_prices(path), Terms()), journal)
    journal.close()
    other = load_prices(path, lambda day: day.day != 4)
    journal = JournalFile.open(tmp_path)
    with pytest.raises(JournalMismatch, match="sessions was 3, now 2"):
        Broker(Exchange(other, Terms()), journal)
    journal.close()


def test_a_line_that_is_no_command_is_named(tmp_path):
    with broker_in(tmp_path):
        pass
    journal = JournalFile.open(tmp_path / "broker")
    list(journal.read())
    journal.append(b'{"op":"conjure"}')
    journal.close()
    with pytest.raises(JournalError, match=r"line 2: .*conjure"), broker_in(tmp_path):
        pass
