"""What an operator can type about money: a book's, and what the broker's account has beyond the books."""

from typing import Annotated

import typer

from services.desk.errors import UsageError
from services.desk.operator_options import (
    DEFAULT,
    AmountArgument,
    BookArgument,
    ReasonOption,
    RequestOption,
    do,
    id_of,
)
from services.desk.options import DirOption, JsonOption

book = typer.Typer(help="The books of a desk.", no_args_is_help=True, rich_markup_mode=None)


def deposit(
    book: BookArgument,
    amount: AmountArgument,
    reason: ReasonOption,
    opening: Annotated[bool, typer.Option("--open", help="Make the book first; needs --source.")] = False,
    source: Annotated[str | None, typer.Option("--source", metavar="SOURCE", help="The source that a new book is for.")] = None,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Put money into a book; it is never profit."""
    from services.desk.operations.money import Deposit

    command = Deposit(book=book, amount=amount, open=opening, source=source, reason=reason, request=id_of(request))
    do(command, directory, as_json)


def withdraw(
    book: BookArgument,
    amount: AmountArgument,
    reason: ReasonOption,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Take free cash out of a book; it is never loss."""
    from services.desk.operations.money import Withdraw

    do(Withdraw(book=book, amount=amount, reason=reason, request=id_of(request)), directory, as_json)


def adopt(
    reason: ReasonOption,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="What the account holds beyond the books belongs to no book.")
    ] = False,
    dividend: Annotated[
        str | None, typer.Option("--dividend", metavar="SYMBOL", help="A dividend, to the books that held it.")
    ] = None,
    interest: Annotated[bool, typer.Option("--interest", help="Interest that was paid or charged.")] = False,
    fee: Annotated[bool, typer.Option("--fee", help="A fee that no order explains.")] = False,
    position: Annotated[str | None, typer.Option("--position", metavar="SYMBOL", help="Shares that no order explains.")] = None,
    amount: Annotated[
        str | None, typer.Option("--amount", metavar="AMOUNT", help="Cash; default: all that is unexplained.")
    ] = None,
    quantity: Annotated[
        str | None, typer.Option("--quantity", metavar="SHARES", help="Of --position; default: the difference.")
    ] = None,
    cost: Annotated[
        str | None, typer.Option("--cost", metavar="AMOUNT", help="Of --position; default: the cash, or in proportion.")
    ] = None,
    currency: Annotated[str | None, typer.Option("--currency", metavar="CURRENCY", help="Default: the base currency.")] = None,
    fx: Annotated[str | None, typer.Option("--fx", metavar="RATE", help="Base currency per unit of another currency.")] = None,
    ex_date: Annotated[
        str | None, typer.Option("--ex-date", metavar="YYYY-MM-DD", help="Share a dividend by what was held before.")
    ] = None,
    book: Annotated[str | None, typer.Option("--book", metavar="BOOK", help="To one book.")] = None,
    pro_rata: Annotated[bool, typer.Option("--pro-rata", help="To all books by their part.")] = False,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Accept what differs at the broker.

    It goes to no book without --book or --pro-rata, a dividend to the books that held the shares.
    """
    from services.desk.operations.account import Adjust, Baseline

    kinds = {"dividend": dividend, "interest": interest or None, "fee": fee or None, "position": position}
    wanted = [name for name, given in kinds.items() if given is not None]
    if len(wanted) + baseline != 1:
        raise UsageError("say one of --baseline, --dividend SYMBOL, --interest, --fee, --position SYMBOL")
    stated = {
        "amount": amount,
        "quantity": quantity,
        "cost": cost,
        "currency": currency,
        "fx": fx,
        "ex_date": ex_date,
        "book": book,
    }
    if baseline:
        given = [name.replace("_", "-") for name, value in stated.items() if value is not None] + ["pro-rata"] * pro_rata
        if given:
            raise UsageError(f"--baseline goes without --{given[0]}")
        do(Baseline(reason=reason, request=id_of(request)), directory, as_json)
        return
    command = Adjust(
        kind=wanted[0], symbol=dividend or position, pro_rata=pro_rata, reason=reason, request=id_of(request), **stated
    )
    do(command, directory, as_json)


@book.command("close")
def book_close(
    book: BookArgument,
    reason: ReasonOption,
    request: RequestOption = None,
    directory: DirOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Close a book that holds nothing, for good."""
    from services.desk.operations.money import CloseBook

    do(CloseBook(book=book, reason=reason, request=id_of(request)), directory, as_json)


def register(app: typer.Typer) -> None:
    """Add all of them to the command."""
    for command in (deposit, withdraw, adopt):
        app.command()(command)
    app.add_typer(book, name="book")
