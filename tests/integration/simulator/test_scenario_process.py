"""A scenario in the simulator's process: by its file and over the control port, also over kills."""

import signal
from contextlib import closing

import pytest

from tests.integration.simulator.client import CLOSE, NEXT_SLOT, SLOT, Simulator

FILE = """
[[quote]]
symbol = "A"
session = "2022-10-04"
step = "slot"
last = "40"
[[withhold]]
query = "positions"
session = "2022-10-04"
step = "slot"
times = 2
"""


@pytest.fixture
def scripted(tmp_path):
    """A simulator that was started with a scenario file."""
    path = tmp_path / "scenario.toml"
    path.write_text(FILE, "utf-8")
    simulator = Simulator(tmp_path, scenario=str(path)).start()
    yield simulator
    simulator.end(signal.SIGKILL)


def last_of(client) -> dict[str, str | None]:
    asked = client.ask("quotes", keys=[{"symbol": "A", "currency": "USD"}, {"symbol": "B", "currency": "USD"}])
    return {row["symbol"]: row["last"] for row in asked["quotes"]}


def test_what_a_file_and_the_port_script_survives_a_kill_and_ends_at_its_moment(scripted):
    with closing(scripted.client()) as client:
        client.ask("advance", **SLOT)
        assert last_of(client) == {"A": "40", "B": "20"}
        script = {"quote": [{"symbol": "B", "session": "2022-10-04", "through": "2022-10-04", "factor": "0.5"}]}
        assert client.ask("script", script=script)["ok"]
        assert last_of(client) == {"A": "40", "B": "10"}
    scripted.end(signal.SIGKILL)
    with closing(scripted.start().client()) as client:
        assert last_of(client) == {"A": "40", "B": "10"}
        client.ask("advance", **CLOSE)
        assert last_of(client) == {"A": "51", "B": "9.78"}  # 19.555 × 0.5 = 9.7775, to the tick
        client.ask("advance", **NEXT_SLOT)
        assert last_of(client) == {"A": "51", "B": "19.555"}


def test_answers_lack_their_end_marker_as_often_as_the_scenario_says(scripted):
    with closing(scripted.client()) as client:
        client.ask("advance", **SLOT)
        assert [client.ask("positions")["end"] for _ in range(3)] == [False, False, True]
        client.ask("advance", **CLOSE)
        assert client.ask("positions")["end"] is True


def test_a_script_that_is_wrong_or_about_the_desk_is_refused_with_its_place(scripted):
    with closing(scripted.client()) as client:
        wrong = client.ask("script", script={"quote": [{"symbol": "A", "factor": "0"}]})
        assert wrong["error"]["code"] == "bad_request"
        assert "$.script.quote[0]" in wrong["error"]["message"]
        assert "unknown field `watch`" in client.ask("script", script={"watch": []})["error"]["message"]
        assert "not traded here: Z" in client.ask("script", script={"halt": [{"symbol": "Z"}]})["error"]["message"]


def test_another_scenario_over_the_same_file_is_refused(scripted, tmp_path):
    scripted.end(signal.SIGKILL)
    (tmp_path / "scenario.toml").write_text(FILE.replace("40", "41"), "utf-8")
    code, line = scripted.failed()
    assert code == 2
    assert "scenario_sha256 was" in line


def test_a_wrong_scenario_ends_the_start_with_file_and_place(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text('[[halt]]\nsymbol = "Z"\n', "utf-8")
    code, line = Simulator(tmp_path, scenario=str(path)).failed()
    assert (code, "no names of the data: Z" in line) == (2, True)
