"""Fixtures of the gate's unit tests."""

from pathlib import Path

import pytest

from tests.unit.gate.calculating import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A policy, a state and an order that passes, in files."""
    return Desk(tmp_path)
