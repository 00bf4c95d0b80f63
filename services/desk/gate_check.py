"""`propdesk gate check`: the gate as a calculator."""

from pathlib import Path

from services.desk.console import show, show_json
from services.desk.errors import UsageError
from services.gate.calculator import InputError, check_files, render


def check(policy: Path, state: Path, orders: Path, *, as_json: bool) -> None:
    """Judge the orders and print the result; raises `UsageError` for a wrong input."""
    try:
        result = check_files(policy, state, orders)
    except InputError as error:
        raise UsageError(str(error)) from error
    if as_json:
        show_json(result)
    else:
        show(render(result))
