"""What an operator can type: every command that becomes an event. Heavy imports stand inside the commands."""

from typing import Annotated

import typer

from services.desk.errors import UsageError
from services.desk.layout import Layout
from services.desk.operator_options import (
    DEFAULT,
    AllOption,
    BookArgument,
    BookOption,
    FileArgument,
    OrderArgument,
    ReasonOption,
    RequestOption,
    do,
    id_of,
    scope_of,
)
from services.desk.options import DirOption, JsonOption

source = typer.Typer(help="The sources that propose.", no_args_is_help=True, rich_markup_mode=None)
policy = typer.Typer(help="The policy: a file does nothing until it is adopted.", no_args_is_help=True, rich_markup_mode=None)


def cancel(
    order: OrderArgument,
    reason: ReasonOption,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Cancel an order that has not ended."""
    from services.desk.operations.orders import Cancel

    do(Cancel(order=order, reason=reason, request=id_of(request)), directory, as_json)


def halt(
    reason: ReasonOption,
    book: BookOption = None,
    everything: AllOption = False,
    reduce_only: Annotated[
        bool, typer.Option("--reduce-only", help="Sources may still sell; without it nothing they want.")
    ] = False,
    liquidate: Annotated[
        bool, typer.Option("--liquidate", help="Sell what is held, at each exchange's next opening hours.")
    ] = False,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Stop new risk at once, until it is reset."""
    from services.desk.operations.halts import HaltNow

    scope = scope_of(book, everything)
    command = HaltNow(book=scope, reduce_only=reduce_only, liquidate=liquidate, reason=reason, request=id_of(request))
    do(command, directory, as_json)


def reset(
    reason: ReasonOption,
    book: BookOption = None,
    everything: AllOption = False,
    keep_holdings: Annotated[bool, typer.Option("--keep-holdings", help="Lift it although something is still held.")] = False,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Lift a halt; drawdown counts anew from here."""
    from services.desk.operations.halts import Reset

    command = Reset(book=scope_of(book, everything), keep_holdings=keep_holdings, reason=reason, request=id_of(request))
    do(command, directory, as_json)


def flatten(
    reason: ReasonOption,
    book: BookOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything that the whole desk holds.")] = False,
    symbol: Annotated[
        str | None, typer.Option("--symbol", metavar="SYMBOL", help="One instrument only, like AAPL or AAPL:USD.")
    ] = None,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Sell what is held, without a halt."""
    from services.desk.operations.halts import Flatten

    if book is None and not everything:
        raise UsageError("say what is to be sold: --book BOOK, or --all for the whole desk")
    command = Flatten(book=scope_of(book, everything), symbol=symbol, reason=reason, request=id_of(request))
    do(command, directory, as_json)


def approvals(directory: DirOption = DEFAULT, as_json: JsonOption = False) -> None:
    """The orders that wait to be approved."""
    from services.desk.approvals_command import show_approvals

    show_approvals(Layout(directory), as_json=as_json)


def approve(
    order: OrderArgument,
    reason: ReasonOption,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Let an order be judged afresh, approved."""
    from services.desk.operations.orders import Approve

    do(Approve(order=order, reason=reason, request=id_of(request)), directory, as_json)


def refuse(
    order: OrderArgument,
    reason: ReasonOption,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Refuse an order that waits."""
    from services.desk.operations.orders import Refuse

    do(Refuse(order=order, reason=reason, request=id_of(request)), directory, as_json)


@source.command("pause")
def source_pause(
    book: BookArgument,
    reason: ReasonOption,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Do not ask a book's source any more.

    What it holds stays protected.
    """
    from services.desk.operations.sources import Pause

    do(Pause(book=book, reason=reason, request=id_of(request)), directory, as_json)


@source.command("resume")
def source_resume(
    book: BookArgument,
    reason: ReasonOption,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Ask a paused source again."""
    from services.desk.operations.sources import Resume

    do(Resume(book=book, reason=reason, request=id_of(request)), directory, as_json)


@policy.command("show")
def policy_show(directory: DirOption = DEFAULT, as_json: JsonOption = False) -> None:
    """The policy in force, every limit of it."""
    from services.desk.policy_command import show

    show(Layout(directory), as_json=as_json)


@policy.command("check")
def policy_check(file: FileArgument, as_json: JsonOption = False) -> None:
    """Whether a policy file loads, and what is wrong with it."""
    from services.desk.policy_command import check

    check(file, as_json=as_json)


@policy.command("diff")
def policy_diff(file: FileArgument, directory: DirOption = DEFAULT, as_json: JsonOption = False) -> None:
    """What adopting a file would change, key by key."""
    from services.desk.policy_command import diff

    diff(Layout(directory), file, as_json=as_json)


@policy.command("adopt")
def policy_adopt(
    file: FileArgument,
    reason: ReasonOption,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Put a file's policy in force, whole, from here on."""
    from services.desk.policy_command import adopt as adopt_policy

    adopt_policy(Layout(directory), file, reason, request, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add all of them to the command."""
    for command in (cancel, halt, reset, flatten, approvals, approve, refuse):
        app.command()(command)
    for name, group in (("source", source), ("policy", policy)):
        app.add_typer(group, name=name)
