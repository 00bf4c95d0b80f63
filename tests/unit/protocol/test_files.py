"""Files that a person names: regular ones within a bound, whoever reads them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from services.agent.sources.errors import SourceError
from services.agent.sources.loader import load_decisions
from services.desk.config import pinned_root
from services.desk.errors import UsageError
from services.gate.inputs import InputError, read_json
from services.gate.policy import PolicyError, load_policy
from services.gate.universe import UniverseError, read_universe
from services.simulator.price_errors import PriceFileError
from services.simulator.prices import load_prices
from services.simulator.scenario_file import ScenarioError, load_scenario
from shared.protocol.files import FileRefused, read_regular

READERS: list[tuple[Callable[[Path], object], type[Exception]]] = [
    (lambda path: read_regular(path, 10), FileRefused),
    (load_policy, PolicyError),
    (lambda path: read_universe((path,)), UniverseError),
    (read_json, InputError),
    (load_scenario, ScenarioError),
    (load_prices, PriceFileError),
    (lambda path: load_decisions(str(path)), SourceError),
    (pinned_root, UsageError),
]


@pytest.mark.parametrize(("read", "refused"), READERS)
def test_a_pipe_a_folder_and_a_device_are_refused_and_never_opened(
    read: Callable[[Path], object], refused: type[Exception], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(refused, match="is no regular file"):
            read(path)


@pytest.mark.parametrize(("read", "refused"), READERS)
def test_a_file_over_the_bound_is_refused_unread(
    read: Callable[[Path], object], refused: type[Exception], tmp_path: Path
) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(refused, match=r"over \d+ bytes"):
        read(tmp_path / "huge")


def test_a_file_of_exactly_the_bound_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_regular(tmp_path / "file", 10) == b"0123456789"
    with pytest.raises(FileRefused, match="over 9 bytes"):
        read_regular(tmp_path / "file", 9)
