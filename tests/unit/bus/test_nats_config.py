"""The configuration text of our own nats-server."""

from pathlib import Path

from shared.bus.nats_config import server_config


def test_the_server_flushes_every_write_and_speaks_version_1_of_the_reply_subject() -> None:
    lines = server_config(store_dir=Path("/data/js")).splitlines()
    assert "  sync_interval: always" in lines
    assert "feature_flags { js_ack_fc_v2: false }" in lines
    assert '  store_dir: "/data/js"' in lines


def test_ports_are_the_servers_choice_on_loopback_unless_given() -> None:
    assert 'listen: "127.0.0.1:-1"' in server_config(store_dir=Path("/js")).splitlines()
    given = server_config(store_dir=Path("/js"), host="0.0.0.0", port=4222, monitor_port=8222).splitlines()
    assert 'listen: "0.0.0.0:4222"' in given
    assert 'http: "0.0.0.0:8222"' in given


def test_files_for_ports_and_pid_are_named_only_when_given() -> None:
    bare = server_config(store_dir=Path("/js"))
    assert "ports_file_dir" not in bare
    assert "pid_file" not in bare
    named = server_config(store_dir=Path("/js"), ports_file_dir=Path("/run dir"), pid_file=Path("/run dir/pid")).splitlines()
    assert 'ports_file_dir: "/run dir"' in named
    assert 'pid_file: "/run dir/pid"' in named


def test_a_quote_in_a_path_cannot_end_its_text() -> None:
    assert '  store_dir: "/a\\"b"' in server_config(store_dir=Path('/a"b')).splitlines()
