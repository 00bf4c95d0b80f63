"""The state at the end of a directory's log, for commands that only look: of the desk that runs, else by a server of our own."""

from services.desk.desk_keys import DeskKeys
from services.desk.embedded import running_desk, with_log, with_running
from services.desk.layout import Layout
from services.desk.patience import patiently
from shared.bus.follower import Follower
from shared.bus.jetstream import Connection
from shared.bus.participant import instance_name
from shared.ledger.fold import apply
from shared.ledger.state import State

READER = "reader"


def folded(layout: Layout) -> State:
    """Everything that the log adds up to; raises `DeskError`, also where there is no log."""
    return patiently(lambda: with_log(layout, fold) if running_desk(layout) is None else with_running(layout, fold))


async def fold(connection: Connection, keys: DeskKeys) -> State:
    """The state at the end of the log; read as nobody, whom no writer fences."""
    follower = Follower(
        connection.log,
        author=READER,
        instance=instance_name(),
        state=State(),
        apply=apply,
        keyring=keys.identity().keyring(),
    )
    try:
        await follower.start()
        return follower.state
    finally:
        await follower.close()
