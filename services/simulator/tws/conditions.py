"""How the gateway and its surroundings are at the moment; faults change it."""

from random import Random
from typing import Final, Literal

from services.simulator.tws.armed import Armed
from services.simulator.tws.fields import Message

RANDOM_SPLITS: Final = (0, 0, 1, 3, 7, 64)
RANDOM_GLUES: Final = (1, 2, 20)


class Conditions:
    """Everything is well until something is changed."""

    def __init__(self) -> None:
        """A fine day."""
        self.armed = Armed()
        self.lost: Literal["later", "never"] | None = None
        self.half_open = False
        self.refusing = False
        self.rollback = 0
        self.no_end: dict[str, int] = {}
        self.ready = True
        self.split, self.glue = 0, 0
        self.random: Random | None = None
        """Draws how frames are cut, write by write, where a seed was given."""
        self.data: Literal["live", "delayed", "none", "competing", "empty"] = "live"
        self.limits = False
        self.kept: list[tuple[int, Message]] = []
        """What is told when the connection to the broker is back, by client id."""

    @property
    def deaf(self) -> bool:
        """Whether requests go unanswered."""
        return self.lost is not None or self.half_open

    def cut(self) -> tuple[int, int]:
        """How the next write is cut: bytes a piece (0: whole) and frames at a time."""
        if self.random is None:
            return self.split, self.glue
        return self.random.choice(RANDOM_SPLITS), self.random.choice(RANDOM_GLUES)

    def end(self, of: str) -> bool:
        """Whether the end marker of a list is sent; uses up one that is withheld."""
        left = self.no_end.get(of, 0)
        if left:
            self.no_end[of] = left - 1
        return not left
