"""The port of a proposal source: what it sees, what it answers."""

from typing import Final, NamedTuple, Protocol

import msgspec

from shared.protocol.envelope import clean_text
from shared.protocol.instants import Day
from shared.protocol.market import MAX_SYMBOL_CHARS, ProposedOrder, split_key
from shared.protocol.money import ZERO, Exact
from shared.protocol.reasons import SourceFault, StopReason

NOT_NUMBERS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
"""What may stand for a number in a proposed order, for the gate to refuse."""


class Close(NamedTuple):
    """The close of one past session, in the instrument's currency."""

    day: Day
    price: Exact


class RunView(msgspec.Struct, frozen=True):
    """All that a source may know of one run.

    `session` is `sessions[index]` of the window. `names` are the keys of the universe. `cash`, `holdings` (shares by instrument
    key) and `value` (None: unknown) are those of the run's `BookValued`, in base currency. `references` are the run's reference
    prices by key in the instrument's currency, `fx` base units per unit of a currency; what is absent is unknown. `history` holds
    closes of sessions before this one by key, oldest first, for a source with `history_needed`.
    """

    session: Day
    index: int
    sessions: tuple[Day, ...]
    names: tuple[str, ...]
    cash: Exact
    holdings: dict[str, Exact]
    value: Exact | None
    references: dict[str, Exact]
    fx: dict[str, Exact]
    history: dict[str, tuple[Close, ...]] = {}

    def held(self, key: str) -> Exact:
        """Shares of an instrument in the book."""
        return self.holdings.get(key, ZERO)


class Proposal(msgspec.Struct, frozen=True):
    """What a source wants done; without orders a decision to do nothing (`submitted`) or no decision (`held`)."""

    orders: tuple[ProposedOrder, ...]
    summary: str
    stop_reason: StopReason = StopReason.SUBMITTED


class Fault(msgspec.Struct, frozen=True):
    """A source that could not answer; never a hold."""

    kind: SourceFault
    message: str


class Source(Protocol):
    """Proposes orders for one book. Equal views give equal answers, so an unfinished run is simply asked again."""

    def history_needed(self, view: RunView) -> int:
        """Sessions before this one of which `propose` wants the closes of every name; 0 if none. `view` has no history yet."""
        ...

    def propose(self, view: RunView) -> Proposal | Fault:
        """Answer one view, without I/O, clock or chance."""
        ...


def held(summary: str) -> Proposal:
    """A source that ends without submitting, and why."""
    return Proposal((), summary, StopReason.HELD)


def is_stable(name: str) -> bool:
    """Whether a symbol, currency, side or exchange stands in the log as it is.

    One that does not is refused, never mended: mending could make a real name of a look-alike (the Kelvin sign becomes K).
    """
    return len(name) <= MAX_SYMBOL_CHARS and clean_text(name, MAX_SYMBOL_CHARS) == name


def symbol_order(key: str) -> tuple[str, str]:
    """Sort key of instrument keys: by symbol, then currency."""
    return split_key(key)
