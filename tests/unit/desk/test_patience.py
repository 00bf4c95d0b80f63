"""What is tried again and what is not."""

import pytest

from services.desk import patience
from services.desk.errors import DirectoryInUse, LogLost, RunFailed, UsageError
from services.desk.operations.base import CommandRefused
from services.desk.patience import patiently


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSE_S", 0.0)


def raising(*errors: Exception) -> list[Exception]:
    return list(errors)


def attempt(left: list[Exception]) -> str:
    if left:
        raise left.pop(0)
    return "done"


def test_what_passes_by_itself_is_tried_again() -> None:
    left = raising(CommandRefused("busy", "x"), CommandRefused("ending", "x"), DirectoryInUse("x"), RunFailed("x"))
    assert patiently(lambda: attempt(left)) == "done"


@pytest.mark.parametrize("error", [CommandRefused("halted", "x"), UsageError("x"), LogLost("x")])
def test_anything_else_is_raised_at_once(error: Exception) -> None:
    left = raising(error, RunFailed("never"))
    with pytest.raises(type(error)):
        patiently(lambda: attempt(left))
    assert len(left) == 1


def test_what_does_not_pass_is_raised_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AGAIN_S", 0.0)
    left = raising(*(RunFailed("x") for _ in range(100_000)))
    with pytest.raises(RunFailed):
        patiently(lambda: attempt(left))
