"""The broker: the pure exchange model, its file, and an index of what came out of it.

Everything in memory is a fold of the file from its first line, so that a restart gives the same state from the same bytes.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from services.simulator.encoding import decode_exact, encode
from services.simulator.exchange import Command, Exchange, Outcome, apply, opening
from services.simulator.injection import corrected
from services.simulator.journal_file import JournalFile, JournalMismatch
from services.simulator.orders import Correct, Execution, Order, Terms
from services.simulator.scenario import Query, scenario_hash
from services.simulator.schedule import sessions_sha256
from services.simulator.scripted import Scene
from shared.protocol.instants import Day
from shared.protocol.money import NumberError

MODEL: Final = 1
"""Version of the exchange model: a file is only ever folded by the version that wrote it."""


class Opened(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", tag="open"):
    """The first line of the file: what decides the meaning of all that follow."""

    model: int
    terms: Terms
    data_sha256: str
    sessions: int
    first_session: Day
    last_session: Day
    sessions_sha256: str
    scenario_sha256: str | None = None


_OPENED: Final = msgspec.json.Decoder(Opened, dec_hook=decode_exact)
_COMMAND: Final = msgspec.json.Decoder(Command, dec_hook=decode_exact)


class Broker:
    """Books of the one account. `state` is the model's, `orders` by permanent id, `executions` in order of their number."""

    def __init__(self, exchange: Exchange, journal: JournalFile) -> None:
        """Fold the file; begin it if it is empty. Raises `JournalError`, `JournalRefused` for a damaged one or other terms."""
        self.exchange, self._journal = exchange, journal
        self.state = opening(exchange.terms)
        self.orders: dict[int, Order] = {}
        self.executions: list[Execution] = []
        self.watchers: list[Callable[[Command, Outcome], None]] = []
        """Told of every outcome of `submit`, once it counts."""
        self._by_ref: dict[str, list[int]] = {}
        self._asked: Counter[tuple[str | None, str]] = Counter()
        self._replay()

    def submit(self, command: Command) -> Outcome:
        """Carry out `command` once its line is on disk; what changes nothing leaves no line.

        Raises `NotStored` with nothing changed, `JournalError` when the process must end.
        """
        outcome = apply(self.exchange, self.state, command)
        if outcome.state is not self.state:
            self._journal.append(encode(command))
            outcome = self._commit(command, outcome)
            for tell in self.watchers:
                tell(command, outcome)
        return outcome

    def with_ref(self, ref: str) -> list[Order]:
        """All orders that carry `ref`, oldest first; there may be several."""
        return [self.orders[perm_id] for perm_id in self._by_ref.get(ref, ())]

    def withholds(self, query: Query) -> bool:
        """Whether this answer lacks its end marker. Only counted in memory: it changes nothing of the books."""
        entries = [entry for entry in Scene(self.exchange, self.state).withheld() if entry.query == query]
        if not entries:
            return False
        place = (self.state.clock, query)
        self._asked[place] += 1
        return self._asked[place] <= max(entry.times for entry in entries)

    def _replay(self) -> None:
        """Fold all lines, or write the first one."""
        ours = _opened(self.exchange)
        payloads = self._journal.read()
        first = next(payloads, None)
        if first is None:
            self._journal.append(encode(ours))
            return
        try:
            self._compare(_OPENED.decode(first), ours)
            for payload in payloads:
                command = _COMMAND.decode(payload)
                self._commit(command, apply(self.exchange, self.state, command))
        except (msgspec.DecodeError, NumberError, ValueError) as error:
            raise self._journal.corrupt(str(error)) from error

    def _compare(self, stored: Opened, ours: Opened) -> None:
        """Refuse a file that was begun under other circumstances, naming them."""
        pairs = {**_pairs(ours, stored), **_pairs(ours.terms, stored.terms)}
        pairs.pop("terms", None)
        if pairs:
            found = "; ".join(f"{name} was {old}, now {new}" for name, (new, old) in pairs.items())
            advice = "start it with the same data file and settings, or give it a new folder (PROPDESK_SIMULATOR_DIR)"
            raise JournalMismatch(f"{self._journal.path} was begun otherwise: {found}: {advice}")

    def _commit(self, command: Command, outcome: Outcome) -> Outcome:
        """Take an outcome into memory; the outcome as it counts."""
        if isinstance(command, Correct) and not outcome.orders:
            order = corrected(self.orders[command.execution.perm_id], command.execution, outcome.executions[0])
            outcome = outcome._replace(orders=(order,))
        self.state = outcome.state
        for order in outcome.orders:
            if order.perm_id not in self.orders:
                self._by_ref.setdefault(order.ref, []).append(order.perm_id)
            self.orders[order.perm_id] = order
        self.executions.extend(outcome.executions)
        return outcome


def _opened(exchange: Exchange) -> Opened:
    """The first line for this data and these terms."""
    file = exchange.file
    first, last = file.sessions[0].isoformat(), file.sessions[-1].isoformat()
    scenario = scenario_hash(exchange.scenario)
    return Opened(MODEL, exchange.terms, file.sha256, len(file.sessions), first, last, sessions_sha256(file), scenario)


def _pairs(ours: msgspec.Struct, stored: msgspec.Struct) -> dict[str, tuple[str, str]]:
    """The fields that differ, as text."""
    both = {name: (getattr(ours, name), getattr(stored, name)) for name in ours.__struct_fields__}
    return {name: (encode(new).decode(), encode(old).decode()) for name, (new, old) in both.items() if new != old}
