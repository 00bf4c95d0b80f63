"""The stand-in gateway as a broker: on loopback, at the port that it wrote into a file, with a clock that only the desk moves."""

from pathlib import Path
from typing import Final

from services.executor.broker import BrokerLost
from services.executor.ibkr.adapter import IbkrBroker
from services.executor.ibkr.connection import Target
from services.executor.ibkr.safety import Mode, Wanted

HOST: Final = "127.0.0.1"
MAX_PORT_FILE_BYTES: Final = 16
RETRY_S: Final = 0.02


def stand_in(port_file: Path) -> IbkrBroker:
    """A broker on the simulator's TWS port; the file is read anew at each connect."""
    return IbkrBroker(lambda: _target(port_file))


def _target(port_file: Path) -> Target:
    """Where to connect; raises `BrokerLost` while the file is not there or not whole."""
    try:
        port = int(port_file.read_bytes()[:MAX_PORT_FILE_BYTES].decode("ascii").strip())
    except (OSError, ValueError) as error:
        raise BrokerLost(f"no port of the simulator in {port_file}: {error}") from error
    return Target(HOST, port, Wanted(Mode.PAPER, port, allow_port=True), stepped=True, retry_s=RETRY_S)
