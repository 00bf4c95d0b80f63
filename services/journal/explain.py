"""`propdesk explain`: reads the whole log, checking it as every service does, and keeps what explains one thing."""

from msgspec.structs import replace

from services.journal.gathering import Explanation, Gatherer
from services.journal.subject import Subject
from shared.bus.follower import ONLY_READS, Follower
from shared.bus.keyring import Keyring
from shared.bus.participant import instance_name
from shared.bus.ports import Log, Stored
from shared.protocol.envelope import Event


async def explain(log: Log, subject: Subject, keyring: Keyring | None = None) -> Explanation:
    """Everything that the log, as long as it is now, has on `subject`.

    What is no event, or not signed as `keyring` demands, is left out, as every service leaves it out. Raises `Unknown` if nothing
    is found, `LogBroken`, and what reading the log raises.
    """
    last = await log.last_seq()
    gatherer = Gatherer(subject)

    def take(cursor: int, event: Event) -> int:
        """Gather one event; what was appended after the start is left out."""
        if event.seq <= last:
            gatherer.take(event)
        return cursor + 1

    dropped = 0

    def drop(stored: Stored, _why: str) -> None:
        """Count what is left out."""
        nonlocal dropped
        dropped += stored.seq <= last

    follower = Follower(log, author=ONLY_READS, instance=instance_name(), state=0, apply=take, keyring=keyring, on_drop=drop)
    if last:
        try:
            await follower.start()
        finally:
            await follower.close()
    return replace(gatherer.result(last), signed=keyring is not None and keyring.required, dropped=dropped)
