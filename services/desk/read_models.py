"""The read models beside a command that appends while no desk, and so no journal, runs: they are brought to the log's end."""

from collections.abc import Callable
from typing import Final

from services.desk.console import say
from services.desk.layout import Layout
from services.desk.tally import DeskState, apply
from services.journal.lock import DatabaseInUse
from services.journal.recorder import Recorder, agree
from services.journal.store import Store, StoreFailed
from shared.bus.ports import Log, Stored
from shared.protocol.envelope import Event

ADVICE: Final = "the read models are behind the log: `propdesk replay` rebuilds them"


class Follow:
    """Writes what a command folds into the read models, if there are any; that they cannot be written stops no command."""

    def __init__(self, layout: Layout) -> None:
        """Nothing is opened before `begin`."""
        self._layout = layout
        self._store: Store | None = None
        self._recorder: Recorder | None = None

    async def begin(self, log: Log) -> None:
        """Open the read models, if there are any."""
        if not self._layout.journal.is_file():
            return
        try:
            self._store = Store(self._layout.journal)
            await agree(self._store, log)
            self._recorder = Recorder(self._store)
        except (DatabaseInUse, StoreFailed) as error:
            self._give_up(error)

    def apply(self, state: DeskState, event: Event) -> DeskState:
        """Fold one event and gather its rows."""
        state = apply(state, event)
        self._do(lambda recorder: recorder.record(event, state.ledger))
        return state

    def dropped(self, stored: Stored, why: str) -> None:
        """Gather the row of a message that is no fact."""
        self._do(lambda recorder: recorder.drop(stored, why))

    def end(self) -> None:
        """Write what was gathered and close."""
        self._do(Recorder.flush)
        if self._store is not None:
            self._store.close()

    def _do(self, what: Callable[[Recorder], None]) -> None:
        if self._recorder is None:
            return
        try:
            what(self._recorder)
        except StoreFailed as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Say so once, and go on without."""
        self._recorder = None
        say(f"propdesk: {error}; {ADVICE}")
