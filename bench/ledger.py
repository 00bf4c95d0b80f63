"""Folding stored payloads into the ledger, with one hash at the end: what a restart from an archive does, without signatures.

Each payload is decoded into its envelope and, for the types that change the ledger, its typed data. Beside it: msgspec decoding
the same payloads without types. The hash is compared with the last one that stands in the log.
"""

import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec
from _table import Figure, parser, profile, rate, report

from shared.bus.ports import Stored
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.state import State
from shared.protocol.envelope import read_event
from shared.protocol.events import StateHashed
from tests.unit.journal.desk_log import desk_log

SESSIONS: Final = 120
ROUNDS: Final = 5


def fold(stored: list[Stored]) -> str:
    """The hash that the payloads fold to."""
    state = State()
    for message in stored:
        state = apply(state, read_event(message.seq, message.subject, message.payload))
    return state_hash(state)


def decode(stored: list[Stored]) -> None:
    """The same payloads as plain values."""
    decoder = msgspec.json.Decoder()
    for message in stored:
        decoder.decode(message.payload)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--sessions", type=int, default=SESSIONS, help="length of the log, some 80 events each")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--profile", action="store_true", help="show where the time goes instead")
    given = options.parse_args()
    stored = desk_log(given.sessions).stored
    last = stored[-1]
    expected = read_event(last.seq, last.subject, last.payload).expect(StateHashed).state_hash
    if fold(stored) != expected:
        raise SystemExit("the log folds to another hash than the one that stands in it")
    if given.profile:
        profile(lambda: fold(stored))
        return
    ours = rate(lambda: fold(stored), len(stored), given.rounds)
    peer = rate(lambda: decode(stored), len(stored), given.rounds)
    figures = [Figure("ledger fold and hash", ours, "events/s", peer, "msgspec decode, untyped", "≥ 100,000/s")]
    report(figures, as_json=given.json)


if __name__ == "__main__":
    main()
