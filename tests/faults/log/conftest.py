"""One interrupted desk for all, of which each test damages a copy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.log.damage import Desk, interrupted


@pytest.fixture(scope="session")
def halfway(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk that was told to stop in the middle of its run; never damaged itself."""
    return interrupted(tmp_path_factory.mktemp("halfway") / "desk")


@pytest.fixture
def desk(halfway: Desk, tmp_path: Path) -> Desk:
    """A copy to damage."""
    return halfway.copy(tmp_path / "desk")


@pytest.fixture
def other(halfway: Desk, tmp_path: Path) -> Callable[[], Desk]:
    """A second desk of the same arguments, which went a little further."""
    return lambda: interrupted(tmp_path / "other", halfway.last_seq + 20)
