"""`propdesk replay`: everything again from the log alone."""

import sys

from services.desk.console import is_terminal, say, show, show_json
from services.desk.desk_keys import DeskKeys
from services.desk.embedded import running_desk, with_log, with_running
from services.desk.errors import RunFailed, UsageError
from services.desk.layout import Layout
from services.desk.report import SECONDS_DECIMALS
from services.journal.lock import DatabaseInUse
from services.journal.replay import ReplayResult
from services.journal.replay import replay as replay_log
from services.journal.store import StoreFailed
from shared.bus.jetstream import Connection
from shared.bus.logs import configure_logs


def replay(layout: Layout, to: int | None, *, as_json: bool) -> None:
    """Rebuild the read models, or with `to` only fold up to that sequence, and print what was found; raises `DeskError`."""
    configure_logs("desk", "warning")
    running = running_desk(layout)
    if running is not None:
        say(f"propdesk: process {running} runs this desk, whose journal keeps the read models: only the log is folded")
    database = layout.journal if running is None else None

    async def work(connection: Connection, keys: DeskKeys) -> ReplayResult:
        progress = _progress if is_terminal(sys.stderr) else None
        return await replay_log(connection.log, database, progress, to=to, keyring=keys.identity().keyring())

    try:
        result = with_log(layout, work) if running is None else with_running(layout, work)
    except (DatabaseInUse, StoreFailed) as error:
        raise RunFailed(str(error)) from error
    except ValueError as error:
        raise UsageError(f"--to: {error}") from error
    _show(result, layout, as_json=as_json)


def _progress(done: int, everything: int) -> None:
    """How far it is, on one line."""
    sys.stderr.write(f"\r{done}/{everything} events" + ("\n" if done == everything else ""))
    sys.stderr.flush()


def _show(result: ReplayResult, layout: Layout, *, as_json: bool) -> None:
    """Print the result."""
    seconds = round(result.seconds, SECONDS_DECIMALS)
    if as_json:
        names = {"events": result.events, "seconds": seconds, "last_seq": result.last_seq, "state_hash": result.state_hash}
        show_json(names)
        return
    show(f"{result.events} events in {seconds} s, last sequence {result.last_seq}")
    show(f"state {result.state_hash}")
    show(f"read models rebuilt in {layout.journal}" if result.replaced else "read models left as they are")
