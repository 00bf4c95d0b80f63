"""When the journal writes."""

from pathlib import Path

import pytest

from services.journal.recorder import FLUSH_AFTER_S, FLUSH_EVENTS, Recorder
from services.journal.store import Store
from tests.unit.journal.desk_log import desk_log


class Seconds:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


def test_nothing_pending_needs_no_waking(tmp_path: Path, clock: Seconds):
    with Store(tmp_path / "journal.db") as store:
        recorder = Recorder(store, clock)
        recorder.flush_if_due()
        assert (recorder.wait_s(), recorder.pending, recorder.written) == (None, 0, 0)


def test_events_are_written_together_once_the_oldest_has_waited(tmp_path: Path, clock: Seconds):
    first, second, third, *_ = desk_log(0).events
    with Store(tmp_path / "journal.db") as store:
        recorder = Recorder(store, clock)
        recorder.record(first)
        clock.now += FLUSH_AFTER_S / 2
        recorder.record(second)
        assert recorder.wait_s() == pytest.approx(FLUSH_AFTER_S / 2)
        recorder.flush_if_due()
        assert (recorder.written, recorder.pending) == (0, 2)
        clock.now += FLUSH_AFTER_S
        recorder.flush_if_due()
        assert (recorder.written, recorder.pending) == (2, 0)
        recorder.record(third)
        assert recorder.wait_s() == pytest.approx(FLUSH_AFTER_S)


def test_a_full_batch_is_written_at_once(tmp_path: Path, clock: Seconds):
    events = desk_log(20).events
    assert len(events) > FLUSH_EVENTS
    with Store(tmp_path / "journal.db") as store:
        recorder = Recorder(store, clock)
        for event in events[:FLUSH_EVENTS]:
            recorder.record(event)
        assert (recorder.written, recorder.pending) == (FLUSH_EVENTS, 0)


def test_what_the_database_has_is_skipped(tmp_path: Path, clock: Seconds):
    events = desk_log(1).events
    with Store(tmp_path / "journal.db") as store:
        recorder = Recorder(store, clock)
        for event in events[:20]:
            recorder.record(event)
        recorder.flush()
        again = Recorder(store, clock)
        for event in events[:25]:
            again.record(event)
        assert again.pending == 5
