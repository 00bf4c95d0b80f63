"""The `propdesk` command: what can be typed, and how every command ends. Heavy imports stand inside the commands."""

import sys
import time
import traceback
from pathlib import Path
from typing import Annotated, Final

import typer

from services.desk import money_cli, operator_cli, simulator_cli
from services.desk.console import discard, flush, nobody_reads, say
from services.desk.errors import DeskError, Interrupted, RunFailed
from services.desk.layout import DEFAULT_DIR, Layout
from services.desk.options import (
    DirOption,
    JsonOption,
    data_path,
    orders_path,
    plain_words,
    policy_path,
    scenario_path,
    state_path,
)
from services.desk.signals import SIGNALS

BEGAN: Final = time.monotonic()

app = typer.Typer(
    name="propdesk",
    help="A paper-trading desk for AI agents: agents propose, a gate decides, an executor trades, a journal remembers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
gate = typer.Typer(help="The gate as a calculator.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(gate, name="gate")
keys = typer.Typer(help="The keys that sign events and open the log.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(keys, name="keys")


def _version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        from importlib.metadata import version

        from services.desk.console import show

        show(f"propdesk {version('propdesk')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """A paper-trading desk for AI agents: agents propose, a gate decides, an executor trades, a journal remembers."""


@app.command()
def run(
    data: Annotated[
        Path | None, typer.Option(parser=data_path, metavar="PATH", help="A price file; default: 20 US stocks that come along.")
    ] = None,
    days: Annotated[int | None, typer.Option(metavar="N", help="How many sessions (default: the last 60).")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="The first session.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="The last session.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND[:ARG][@BOOK]", help="Who proposes; repeatable, replaces the three built-in books."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, metavar="N", help="Part of what makes two runs the same run.")] = 0,
    policy: Annotated[
        Path | None, typer.Option(parser=policy_path, metavar="PATH", help="A policy file; default: the demo policy.")
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option(parser=scenario_path, metavar="PATH", help="What is scripted of market and day (TOML or JSON).")
    ] = None,
    dry: Annotated[bool, typer.Option("--dry", help="Judge every proposal, send and count nothing: all runs are dry.")] = False,
    directory: DirOption = Path(DEFAULT_DIR),
    fresh: Annotated[bool, typer.Option("--fresh", help="Rename an old data directory and start anew.")] = False,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Return when the run is over, as every run does so far.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Paper-trade a price file with the whole stack on this machine."""
    from services.desk import arguments
    from services.desk.display import JsonDisplay, PersonDisplay
    from services.desk.run import Job
    from services.desk.run import run as run_job

    options = arguments.RunOptions(
        data=data or arguments.BUNDLED_DATA,
        days=days,
        start=start,
        end=end,
        sources=tuple(source or ()),
        seed=seed,
        policy=policy or arguments.DEMO_POLICY,
        scenario=scenario,
        dry=dry,
    )
    prepared, layout = arguments.prepare(options), Layout(directory)
    for warning in prepared.warnings():
        say(f"data: {warning}")
    display = JsonDisplay(prepared, BEGAN) if as_json else PersonDisplay(prepared, layout, BEGAN)
    run_job(Job(prepared, layout, fresh, display, BEGAN))


@app.command()
def replay(
    to: Annotated[
        int | None, typer.Option(min=1, metavar="SEQ", help="Fold up to this sequence only; changes no database.")
    ] = None,
    directory: DirOption = Path(DEFAULT_DIR),
    as_json: JsonOption = False,
) -> None:
    """Rebuild all read models from the log alone."""
    from services.desk.offline import replay as replay_log

    replay_log(Layout(directory), to, as_json=as_json)


@app.command()
def status(directory: DirOption = Path(DEFAULT_DIR), as_json: JsonOption = False) -> None:
    """What the desk holds, what it did, and whether one is running."""
    from services.desk.status import show_status

    show_status(Layout(directory), as_json=as_json)


@app.command()
def explain(
    name: Annotated[str, typer.Argument(metavar="RUN|ORDER|EXECUTION", help="Its name, or the id of any event.")],
    directory: DirOption = Path(DEFAULT_DIR),
    as_json: JsonOption = False,
) -> None:
    """Tell one story from the log, from question to cost.

    What was asked, proposed, judged and why, sent, filled, and what it cost.
    """
    from services.desk.explain import explain as explain_name

    explain_name(Layout(directory), name, as_json=as_json)


operator_cli.register(app)
money_cli.register(app)
simulator_cli.register(app)


@keys.command("init")
def keys_init(
    book: Annotated[list[str] | None, typer.Option(metavar="BOOK", help="A book whose source gets a key; repeatable.")] = None,
    directory: DirOption = Path(DEFAULT_DIR),
    as_json: JsonOption = False,
) -> None:
    """Make the keys that are missing; a run does so too."""
    from services.desk.keys_command import DEFAULT_BOOKS, init

    init(Layout(directory), book or DEFAULT_BOOKS, as_json=as_json)


@keys.command("show")
def keys_show(directory: DirOption = Path(DEFAULT_DIR), as_json: JsonOption = False) -> None:
    """The public keys in force."""
    from services.desk.keys_command import show

    show(Layout(directory), as_json=as_json)


@keys.command("rotate")
def keys_rotate(
    who: Annotated[str, typer.Argument(metavar="AUTHOR|BOOK", help="desk, gate, executor, journal, or a book.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it stands in the log for ever.")],
    request: Annotated[str | None, typer.Option(metavar="ID", help="Repeat a request with its id: it is one event.")] = None,
    directory: DirOption = Path(DEFAULT_DIR),
    as_json: JsonOption = False,
) -> None:
    """Put a new key in force.

    What the old one signs afterwards does not count.
    """
    from services.desk.keys_command import rotate

    rotate(Layout(directory), who, reason, request, as_json=as_json)


@gate.command("check")
def gate_check(
    policy: Annotated[Path, typer.Option(parser=policy_path, metavar="PATH", help="A policy file.")],
    state: Annotated[Path, typer.Option(parser=state_path, metavar="PATH", help="Book, quotes and sessions as JSON.")],
    orders: Annotated[Path, typer.Option(parser=orders_path, metavar="PATH", help="A list of orders as JSON.")],
    as_json: JsonOption = False,
) -> None:
    """Judge orders without any service; exits 0 whenever it could judge."""
    from services.desk.gate_check import check

    check(policy, state, orders, as_json=as_json)


def main(args: list[str] | None = None) -> int:
    """Run a command; returns its exit code: 0 done, 1 failed, 2 wrong usage, 3 not reconciled, 128 + n after signal n."""
    SIGNALS.catch()
    try:
        code = _ended(args)
        SIGNALS.ignore()
    except Interrupted as interrupted:
        SIGNALS.ignore()
        code = _explain(interrupted)
    return _flushed(code)


def _ended(args: list[str] | None) -> int:
    """Run a command, and explain what went wrong if something did; its exit code. Raises `Interrupted`."""
    try:
        code = app(args, prog_name="propdesk", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.Abort:
        return 1
    except Interrupted:
        raise
    except DeskError as error:
        return _explain(error)
    except typer.TyperException as error:
        text = plain_words(error.format_message())
        say(text if text.startswith("Usage:") else f"propdesk: {text} (propdesk --help says more)")
        return error.exit_code
    except OSError as error:
        return _explain_os(error)
    except Exception as error:
        say(traceback.format_exc().rstrip())
        say(f"propdesk: a fault of propdesk itself: {type(error).__name__}: {error}")
        return 1


def _explain(error: DeskError) -> int:
    """One line on what went wrong, after the last words of whoever failed; the exit code."""
    for line in error.details if isinstance(error, RunFailed) else ():
        say(f"  | {line}")
    say(f"propdesk: {error}")
    return error.exit_code


def _explain_os(error: OSError) -> int:
    """What the operating system refused, where, and what to do; nothing where only the reader of a pipe went away."""
    if isinstance(error, BrokenPipeError) and nobody_reads():
        discard()
        return 0
    what = (error.strerror or str(error) or type(error).__name__).lower()
    where = f"{error.filename}: {what}: see that it exists, has space, and may be read and written"
    say(f"propdesk: {where if error.filename else what + ': see that the disk has space and files may be written'}")
    return 1


def _flushed(code: int) -> int:
    """The exit code after all of stdout was written, which can fail."""
    try:
        flush()
    except DeskError as error:
        return _explain(error) if code == 0 else code
    return code


if __name__ == "__main__":
    sys.exit(main())
