"""What the `data` of all events has in common, and the one fact that several authors state."""

import msgspec

from shared.protocol.instants import Day


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the `data` of all events."""


class StateHashed(Data, frozen=True):
    """The hash of the ledger after the last fact of `session`, or behind sequence `seq`, which fell into that session."""

    session: Day
    state_hash: str
    seq: int | None = None
