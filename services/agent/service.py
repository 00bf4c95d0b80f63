"""The agent's shell: takes the next piece of work that the log owes, asks the book's source, appends the answer."""

from pathlib import Path

import structlog
from msgspec.structs import replace

from services.agent.history import Closes, HistoryAsk
from services.agent.history_reader import HistoryReader
from services.agent.runs import AUTHOR, Unready, args_of, concluded, ended, errored, needed, started, think, view_of
from services.agent.settings import AgentSettings
from services.agent.sources import Source, SourceError, open_source
from services.agent.sources.port import Fault
from shared.bus.participant import Participant
from shared.bus.service import Service
from shared.ledger.owed import Owed, next_of, owed
from shared.ledger.state import Run, State
from shared.protocol.envelope import Draft

_log = structlog.get_logger("agent")


async def serve(service: Service[AgentSettings]) -> None:
    """Propose for every book until the process is asked to end."""
    settings = service.settings
    history = HistoryReader(
        service.rpc, service.participant.wake, timeout_s=settings.history_timeout_s, pause_s=settings.history_pause_s
    )
    agent = Agent(service.participant, history, settings.data_dir)
    try:
        while not service.stopping:
            await agent.work()
    finally:
        await history.close()


class Agent:
    """Proposes for every book of the desk, one run after another.

    It remembers nothing: an unfinished run is taken up from the log by whichever process comes next, and its source, which is
    repeatable, is asked again.
    """

    def __init__(self, participant: Participant[State], history: HistoryReader, data_dir: Path) -> None:
        """Work on `participant`'s log; files of sources are looked up in `data_dir`."""
        self._participant, self._history, self._data_dir = participant, history, data_dir
        self._sources: dict[str, Source] = {}

    async def work(self) -> None:
        """Append the next event that is owed, or wait for the log to move."""
        draft = self.decide()
        if draft is None:
            await self._participant.advance()
        elif (event := await self._participant.append(draft)) is not None:
            _log.info("appended", id=event.id, seq=event.seq)

    def decide(self) -> Draft | None:
        """The next event to append, None if nothing is owed or a history is still on its way.

        Raises `Unready` for a log that asks for what it gives no means for, `SourceError` for a source that cannot be opened.
        """
        state = self._participant.state
        item = next_of(owed(state), AUTHOR)
        draft = None if item is None else self._draft(state, item)
        return None if draft is None else replace(draft, as_of=self._participant.cursor)

    def _draft(self, state: State, item: Owed) -> Draft | None:
        """The event of one piece of work."""
        match item.type:
            case "RunStarted":
                return started(state, item)
            case "RunEnded":
                return ended(state, item)
            case "ProposalMade":
                return self._answer_or_error(state, item)
            case other:
                raise NotImplementedError(f"the log owes a {other} of the agent, which it cannot write")

    def _answer_or_error(self, state: State, item: Owed) -> Draft | None:
        """What the book's source says; what nobody foresaw ends this one run, and no other book's."""
        try:
            return self._answer(state, item)
        except (Unready, SourceError):
            raise
        except Exception as error:
            _log.exception("the run ends with an error", run=item.about)
            return errored(state, item, error)

    def _answer(self, state: State, item: Owed) -> Draft | None:
        """What the book's source says, once its history is there."""
        run = state.runs[item.about]
        source = self._source(state, item.book)
        depth = needed(source, view_of(state, run, {}))
        if isinstance(depth, Fault):
            return concluded(state, item, depth)
        history = self._closes(state, run, depth)
        return None if history is None else concluded(state, item, think(source, view_of(state, run, history)))

    def _closes(self, state: State, run: Run, depth: int) -> Closes | None:
        """The history that the source wants for this run; None while it is on its way."""
        view = view_of(state, run, {})
        return self._history.known(HistoryAsk(view.session, view.names, depth)) if depth and view.names else {}

    def _source(self, state: State, book: str) -> Source:
        """A book's source, opened at its first use."""
        if book not in self._sources:
            args = args_of(state, book)
            self._sources[book] = open_source(args.source, args.argument, self._data_dir)
        return self._sources[book]
