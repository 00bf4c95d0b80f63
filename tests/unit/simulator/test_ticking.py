"""The clock that moves by itself, with a monotonic time that only the test moves."""

from services.simulator.broker import Broker
from services.simulator.exchange import Exchange
from services.simulator.journal_file import JournalFile
from services.simulator.orders import Place, Status, Terms
from services.simulator.ticking import Ticker
from shared.protocol.calendar import calendar
from shared.protocol.instants import to_text
from shared.protocol.market import Side
from shared.protocol.money import Exact
from tests.unit.simulator.worlds import MONDAY, TUESDAY, WEDNESDAY, price_file

ROWS = "\n".join(f"{day},A,50,52,49,51," for day in (MONDAY, TUESDAY, WEDNESDAY))


class World:
    """A broker and a ticker at 100 seconds a second, whose monotonic time is `at`."""

    def __init__(self, folder, start=1):
        self.journal = JournalFile.open(folder / "broker")
        self.broker = Broker(Exchange(price_file(folder, ROWS), Terms()), self.journal)
        self.at = 5.0
        self.ticker = Ticker(self.broker, calendar("XNYS"), start, 100, lambda: self.at)

    def passes(self, market_s: float) -> str | None:
        """Let market time pass and bring the books up to it; their clock."""
        self.at += market_s / 100
        self.ticker.catch_up()
        return self.broker.state.clock


def test_time_begins_at_the_open_of_the_first_session_and_runs_at_the_speed(tmp_path):
    world = World(tmp_path)
    assert to_text(world.ticker.now) == f"{TUESDAY}T13:30:00.000000Z"
    assert world.passes(3600) == f"{TUESDAY}T14:30:00.000000Z"


def test_a_second_is_the_smallest_step_that_is_written(tmp_path):
    world = World(tmp_path)
    world.passes(60)
    assert world.passes(0.5) == f"{TUESDAY}T13:31:00.000000Z"
    assert world.passes(0.5) == f"{TUESDAY}T13:31:01.000000Z"


def test_no_close_and_no_open_is_passed_over(tmp_path):
    world = World(tmp_path)
    world.passes(60)
    world.broker.submit(Place("tws:1", "r", "A", "USD", Side.BUY, Exact(1), Exact("49.5"), order_id=1))
    steps: list[tuple[str, str | None]] = []
    world.broker.watchers.append(lambda command, outcome: steps.append((getattr(command, "step", ""), outcome.state.clock)))
    world.passes(24 * 3600)
    assert steps == [
        ("close", f"{TUESDAY}T20:00:00.000000Z"),
        ("open", f"{WEDNESDAY}T13:30:00.000000Z"),
        ("watch", f"{WEDNESDAY}T13:31:00.000000Z"),
    ]
    assert world.broker.orders[1].status is Status.FILLED


def test_after_the_data_the_exchange_stays_closed(tmp_path):
    world = World(tmp_path, start=2)
    world.passes(10 * 24 * 3600)
    assert world.broker.state.now is not None
    assert world.broker.state.now.closed


def test_a_broker_that_was_kept_goes_on_where_it_stood(tmp_path):
    world = World(tmp_path)
    world.passes(3600)
    world.journal.close()
    again = World(tmp_path, start=0)
    assert to_text(again.ticker.now) == f"{TUESDAY}T14:30:00.000000Z"
