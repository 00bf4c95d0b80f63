"""What a service is told in its environment."""

from pathlib import Path

import pytest

from shared.bus.settings import ServiceSettings, load_settings


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NATS_URL", "DESK", "DIR", "LOG_LEVEL", "PARENT_PID", "STATE_DIR"):
        monkeypatch.delenv(f"PROPDESK_{name}", raising=False)


def test_every_setting_is_read_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"NATS_URL": "nats://h:1", "DESK": "d", "DIR": "/data", "LOG_LEVEL": "debug", "PARENT_PID": "7", "STATE_DIR": "/own"}
    for name, value in told.items():
        monkeypatch.setenv(f"PROPDESK_{name}", value)
    settings = load_settings(ServiceSettings)
    assert settings == ServiceSettings(
        nats_url="nats://h:1", desk="d", data_dir=Path("/data"), log_level="debug", parent_pid=7, state_dir=Path("/own")
    )


def test_a_services_folder_lies_in_the_data_directory_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPDESK_NATS_URL", "nats://h:1")
    assert load_settings(ServiceSettings).folder_of("gate") is None
    monkeypatch.setenv("PROPDESK_DIR", "/data")
    assert load_settings(ServiceSettings).folder_of("gate") == Path("/data/services/gate")
    monkeypatch.setenv("PROPDESK_STATE_DIR", "/own")
    assert load_settings(ServiceSettings).folder_of("gate") == Path("/own")


def test_only_the_servers_address_must_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPDESK_NATS_URL", "nats://h:1")
    settings = load_settings(ServiceSettings)
    assert (settings.desk, settings.data_dir, settings.log_level, settings.parent_pid) == (
        "default",
        Path(".propdesk"),
        "info",
        None,
    )


def test_a_missing_address_exits_2_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        load_settings(ServiceSettings)
    assert ended.value.code == 2
    assert capsys.readouterr() == ("", "settings: PROPDESK_NATS_URL: Field required\n")


def test_a_setting_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="color"):
        ServiceSettings(nats_url="nats://h:1", color="red")  # type: ignore[call-arg]
