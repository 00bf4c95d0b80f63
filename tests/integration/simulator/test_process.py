"""The process: kills, restarts, signals, ports and wrong configurations."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.simulator.client import CLOSE, NEXT_SLOT, ROOT, ROWS, SLOT, Simulator, environment


@pytest.fixture
def make(tmp_path):
    """Makes simulators that are not started; what they started is killed at the end."""
    made: list[Simulator] = []

    def build(**settings: str) -> Simulator:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Simulator(folder, **settings))
        return made[-1]

    yield build
    for simulator in made:
        if simulator.process is not None:
            simulator.end(signal.SIGKILL)


def order(symbol: str, side: str, quantity: str, limit: str, ref: str) -> tuple[str, dict[str, Any]]:
    """A request to place an order."""
    fields = {"symbol": symbol, "currency": "USD", "side": side, "quantity": quantity, "limit": limit, "ref": ref}
    return "place", fields


STEPS: list[tuple[str, dict[str, Any]]] = [
    ("advance", SLOT),
    order("A", "BUY", "100", "51", "fills at once"),
    order("B", "BUY", "10", "25", "fills at the close"),
    order("B", "BUY", "10", "19.55", "expires"),
    order("A", "SELL", "40", "60", "is cancelled"),
    ("cancel", {"perm_id": 4}),
    order("ZZZ", "BUY", "10", "30", "is rejected"),
    ("advance", CLOSE),
    ("advance", NEXT_SLOT),
    order("A", "SELL", "60", "50", "fills at once"),
]


def test_a_kill_between_any_two_requests_changes_nothing(make):
    whole = make().start()
    client = whole.client()
    answers = [client.ask(op, **fields) for op, fields in STEPS]
    expected = client.books()
    client.close()
    assert all(answer["ok"] for answer in answers)
    assert len(expected["executions"]["executions"]) == 3

    killed = make().start()
    for done, (op, fields) in enumerate(STEPS, 1):
        client = killed.client()
        client.ask(op, **fields)
        before = client.books()
        client.close()
        assert killed.end(signal.SIGKILL) == -signal.SIGKILL
        client = killed.start().client()
        assert client.books() == before, f"after {done} requests"
        client.close()
    assert before == expected
    assert killed.journal.read_bytes() == whole.journal.read_bytes()


@pytest.mark.parametrize("answered", [1, 17, 60])
def test_a_kill_in_the_middle_loses_nothing_that_was_answered_and_tears_nothing(make, answered):
    simulator = make().start()
    client = simulator.client()
    client.ask("advance", **SLOT)
    for number in range(200):
        client.send("place", ref=f"r{number}", symbol="B", currency="USD", side="BUY", quantity="1", limit="5")
    for _ in range(answered):
        assert client.read()["ok"]
    simulator.end(signal.SIGKILL)
    client.close()
    client = simulator.start().client()
    found = client.ask("orders")["orders"]
    assert len(found) >= answered
    assert [(entry["perm_id"], entry["ref"]) for entry in found] == [(n + 1, f"r{n}") for n in range(len(found))]
    assert client.place("B", ref="next")["perm_id"] == len(found) + 1
    client.close()


def test_every_answered_request_is_a_line_on_disk(simulator, connect):
    client = connect()
    client.ask("advance", **SLOT)
    for number in range(1, 20):
        client.place("B", limit="5")
        assert simulator.journal.read_bytes().count(b"\n") == number + 2


def test_a_cut_last_line_is_forgotten_and_said(make):
    simulator = make().start()
    client = simulator.client()
    client.ask("advance", **SLOT)
    client.place("B", ref="kept")
    client.place("B", ref="cut")
    client.close()
    simulator.end(signal.SIGKILL)
    simulator.journal.write_bytes(simulator.journal.read_bytes()[:-7])
    simulator.start()
    client = simulator.client()
    assert [order["ref"] for order in client.ask("orders")["orders"]] == ["kept"]
    assert client.place("B", ref="again")["perm_id"] == 2
    client.close()
    assert "cut off an incomplete last line" in simulator.log.read_text()


def test_a_corrupt_line_ends_the_start_and_is_named(make):
    simulator = make().start()
    client = simulator.client()
    client.ask("advance", **SLOT)
    client.place("B")
    client.close()
    simulator.end()
    before = simulator.journal.read_bytes().replace(b'"side":"BUY"', b'"side":"SELL"')
    simulator.journal.write_bytes(before)
    code, words = simulator.failed()
    assert code == 2
    assert "journal.jsonl, line 3: it is not as it was written" in words
    assert simulator.journal.read_bytes() == before


@pytest.mark.parametrize("content", [b"\x7fELF garbage", b"garbage\n", b'{"n":1,"op":"open","crc":"00000000"}\n'])
def test_a_foreign_file_is_refused_for_good_and_left_alone(make, content):
    simulator = make()
    simulator.folder.mkdir()
    simulator.journal.write_bytes(content)
    code, words = simulator.failed()
    assert code == 2
    assert "journal.jsonl, line 1: it is not as it was written; restore the file from a copy or begin with a new folder" in words
    assert simulator.journal.read_bytes() == content


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused_for_good(make):
    simulator = make()
    simulator.folder.mkdir()
    simulator.journal.write_bytes(b"")
    simulator.journal.chmod(0)
    code, words = simulator.failed()
    assert (code, "journal.jsonl cannot be opened (Permission denied)" in words) == (2, True)


def test_a_port_file_that_is_a_pipe_is_not_waited_for(make):
    simulator = make()
    simulator.folder.mkdir()
    os.mkfifo(simulator.folder / "port")
    assert simulator.launch().poll() is None
    deadline = time.monotonic() + 10
    while not (simulator.folder / "port").is_file() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert simulator.port > 0


def test_another_data_file_is_refused(make):
    simulator = make().start()
    simulator.end()
    simulator.data.write_text(ROWS.replace("19.555", "19.556"))
    code, words = simulator.failed()
    assert code == 2
    assert "was begun otherwise: data_sha256 was" in words
    assert "give it a new folder (PROPDESK_SIMULATOR_DIR)" in words


def test_other_terms_are_refused(make):
    simulator = make().start()
    simulator.end()
    simulator.settings["cash"] = "5"
    assert simulator.failed()[0] == 2


def test_a_second_simulator_on_one_folder_is_refused(make):
    simulator = make().start()
    process = simulator.process
    assert process is not None
    code, words = simulator.failed()
    assert (code, "in use by another simulator" in words) == (2, True)
    simulator.process = process


def test_a_wrong_price_file_is_refused_with_its_line(make):
    simulator = make()
    simulator.data.write_text(ROWS + "2022-10-06,A,,,,NaN,\n")
    code, words = simulator.failed()
    assert code == 2
    assert "prices.csv, line 8, column close: found 'NaN'" in words
    assert not simulator.folder.exists()


def test_warnings_about_the_data_are_logged(make):
    simulator = make()
    simulator.data.write_text(ROWS + "2022-10-08,A,,,,5,\n")
    simulator.start()
    assert "dropped rows on days that are no sessions: 2022-10-08 (1 row)" in simulator.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_one_signal_ends_it_cleanly_and_quickly_with_clients_waiting(simulator, connect, number):
    client, held = connect("executor"), connect(None)
    client.send("wait", to=SLOT["to"])
    held.send("hello", client="executor")
    assert held.silent(0.1)
    began = time.monotonic()
    assert simulator.end(number) == 0
    assert time.monotonic() - began < 2
    assert client.ended()
    assert "Traceback" not in simulator.log.read_text()


def test_the_port_is_kept_over_a_restart(make):
    simulator = make().start()
    port = simulator.port
    client = simulator.client()
    simulator.end(signal.SIGKILL)
    client.close()
    assert simulator.start().port == port


def test_a_port_that_was_taken_meanwhile_is_replaced(make):
    simulator = make().start()
    port = simulator.port
    simulator.end()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        simulator.launch()
        deadline = time.monotonic() + 10
        while simulator.port == port and time.monotonic() < deadline:
            time.sleep(0.01)
        assert simulator.port != port
        client = simulator.client()
        assert client.ask("clock")["ok"]
        client.close()


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(make):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, words = make(port=str(port)).failed()
    assert (code, f"port {port} cannot be used" in words) == (2, True)


def test_it_listens_on_loopback_only(simulator):
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{simulator.port:04X}")]
    assert listening == [f"0100007F:{simulator.port:04X}"]


def test_it_ends_with_the_process_that_started_it(make):
    simulator = make()
    script = (
        "import os,subprocess,sys,time\n"
        "os.environ['PROPDESK_SIMULATOR_PARENT_PID'] = str(os.getpid())\n"
        "child = subprocess.Popen([sys.executable, '-m', 'services.simulator'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, env=environment(simulator.folder, simulator.data), stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    deadline = time.monotonic() + 10
    while not (simulator.folder / "port").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    while running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(child)


def running(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles"])
def test_the_hosts_time_zone_and_locale_move_nothing(make, monkeypatch, zone):
    books = []
    for variables in ({}, {"TZ": zone, "LC_ALL": "de_DE.UTF-8", "PYTHONHASHSEED": "7"}):
        for name, value in variables.items():
            monkeypatch.setitem(os.environ, name, value)
        simulator = make().start()
        client = simulator.client()
        books.append(([client.ask(op, **fields) for op, fields in STEPS], client.books()))
        client.close()
    assert books[0] == books[1]


def test_an_account_in_another_currency_comes_with_its_rate(make):
    simulator = make(base_currency="AUD", fx='{"USD":"1.5"}').start()
    client = simulator.client()
    client.ask("advance", **SLOT)
    assert client.ask("quotes", keys=[])["fx"] == {"AUD": "1", "USD": "1.5"}
    client.place("A", limit="51", quantity="100")
    assert client.ask("account")["cash"] == {"AUD": "1000000", "USD": "-5002"}
    client.close()
