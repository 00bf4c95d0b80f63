"""The configuration text of our own nats-server: pure, so that the supervisor and the tests start the very same server."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from shared.bus.accounts import accounts_config

LOOPBACK: Final = "127.0.0.1"
ANY_PORT: Final = -1
MAX_FILE_STORE_BYTES: Final = 50 * 1024**3
MAX_MEMORY_STORE_BYTES: Final = 256 * 1024**2
MAX_PAYLOAD_BYTES: Final = 1024**2


def server_config(
    *,
    store_dir: Path,
    ports_file_dir: Path | None = None,
    host: str = LOOPBACK,
    port: int = ANY_PORT,
    monitor_port: int = ANY_PORT,
    pid_file: Path | None = None,
    max_file_store: int = MAX_FILE_STORE_BYTES,
    server_name: str = "bus",
    users: Mapping[str, str] | None = None,
) -> str:
    """The text of a nats-server configuration file.

    `store_dir` is where JetStream keeps its files. A port of -1 lets the server choose one; it writes the ports chosen to
    `<ports_file_dir>/nats-server_<pid>.ports` (JSON). Sizes are bytes. `sync_interval: always` makes an acknowledged event
    survive a power cut; `js_ack_fc_v2` is pinned because our reader takes version 1 of the reply subject apart. `users` are
    public keys by name, each with the rights of `shared.bus.rights`; None lets everybody do everything (tests).
    """
    lines = [
        f"server_name: {_text(server_name)}",
        f"listen: {_text(f'{host}:{port}')}",
        f"http: {_text(f'{host}:{monitor_port}')}",
        f"max_payload: {MAX_PAYLOAD_BYTES}",
        "jetstream {",
        f"  store_dir: {_text(str(store_dir))}",
        "  sync_interval: always",
        f"  max_file_store: {max_file_store}",
        f"  max_memory_store: {MAX_MEMORY_STORE_BYTES}",
        "}",
        "feature_flags { js_ack_fc_v2: false }",
    ]
    if users is not None:
        lines.append(accounts_config(users))
    if ports_file_dir is not None:
        lines.append(f"ports_file_dir: {_text(str(ports_file_dir))}")
    if pid_file is not None:
        lines.append(f"pid_file: {_text(str(pid_file))}")
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    """A quoted text; the server reads JSON's escapes in double quotes."""
    return json.dumps(value, ensure_ascii=False)
