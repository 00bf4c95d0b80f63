"""Before anything is started: the log must hold what every service last saw of it, and one that vanished is never made anew."""

from collections.abc import Iterator
from pathlib import Path

from services.desk.console import say
from services.desk.layout import Layout
from shared.bus.folder import SEEN_FILE, SNAPSHOT_FILE
from shared.bus.ports import Log, LogBroken
from shared.bus.seen import Seen, compare, read_seen


async def check_log(layout: Layout, log: Log) -> None:
    """Raise `LogBroken`, naming the sequences, unless the log is the one that the services of this directory saw.

    Whoever saw most is asked first, so that all that is lost is named.
    """
    remembering = [folder for folder in _folders(layout) if _remembers(folder)]
    if not remembering:
        return
    try:
        await log.info()
    except LogBroken as error:
        raise LogBroken(f"{error}; {', '.join(map(_said, remembering))}") from error
    for seen, service in sorted(_seen(remembering), key=lambda found: found[0].seq, reverse=True):
        await compare(log, seen, f"the {service}")


def _seen(folders: list[Path]) -> Iterator[tuple[Seen, str]]:
    """What each service saw last; a file that cannot be read is as good as missing, and that is said."""
    for folder in folders:
        try:
            seen = read_seen(folder)
        except ValueError as error:
            say(f"propdesk: {error}: it is as good as missing")
            continue
        if seen is not None:
            yield seen, folder.name


def _folders(layout: Layout) -> list[Path]:
    """The folders of all services that ever ran here."""
    return sorted(folder for folder in layout.services.glob("*") if folder.is_dir())


def _remembers(folder: Path) -> bool:
    """Whether a service left anything that says that there was a log."""
    return any((folder / name).exists() for name in (SEEN_FILE, SNAPSHOT_FILE))


def _said(folder: Path) -> str:
    """What a service remembers of a log that is gone."""
    try:
        seen = read_seen(folder)
    except ValueError:
        seen = None
    return f"the {folder.name} had a log" if seen is None else f"the {folder.name} saw sequences {seen.first_seq} to {seen.seq}"
