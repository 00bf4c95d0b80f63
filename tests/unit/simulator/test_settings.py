"""Settings from the environment."""

import os
from pathlib import Path

import pytest

from services.simulator.orders import Terms
from services.simulator.settings import SettingsError, load_settings
from shared.protocol.money import Exact

PREFIX = "PROPDESK_SIMULATOR_"


@pytest.fixture
def environment(monkeypatch):
    """Sets variables of ours, after all that were there are gone."""
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)

    def given(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(PREFIX + name, value)

    return given


def test_only_the_folder_must_be_said(environment):
    environment(DIR="/tmp/broker")
    settings = load_settings()
    assert (settings.dir, settings.port, settings.parent_pid) == (Path("/tmp/broker"), 0, None)
    assert settings.terms() == Terms(account="DU1234567", base_currency="USD", currency="USD", cash=Exact(1_000_000), fx={})
    assert settings.data.name == "us-stocks-daily.csv"


def test_another_base_currency_comes_with_a_rate(environment):
    environment(DIR="/tmp/broker", BASE_CURRENCY="AUD", FX='{"USD": "1.50"}', CASH="5000.5")
    assert load_settings().terms() == Terms(base_currency="AUD", cash=Exact("5000.5"), fx={"USD": Exact("1.5")})


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "PROPDESK_SIMULATOR_DIR: Field required"),
        ({"DIR": ""}, "PROPDESK_SIMULATOR_DIR: is empty"),
        ({"PORT": ""}, "PROPDESK_SIMULATOR_PORT: is empty"),
        ({"PORT": "65536"}, "PROPDESK_SIMULATOR_PORT: Input should be less than or equal to 65535, found '65536'"),
        ({"PORT": "4002.5"}, "PROPDESK_SIMULATOR_PORT"),
        ({"PROT": "1"}, "unknown: PROPDESK_SIMULATOR_PROT; known: PROPDESK_SIMULATOR_BASE_CURRENCY"),
        ({"BASE_CURRENCY": "usd"}, "PROPDESK_SIMULATOR_BASE_CURRENCY"),
        ({"BASE_CURRENCY": "AUD"}, "fx has no rate for USD"),
        ({"BASE_CURRENCY": "AUD", "FX": '{"USD": 1.5}'}, "must be decimal text, found float"),
        ({"BASE_CURRENCY": "AUD", "FX": '{"USD": "0"}'}, "must be greater than 0"),
        ({"BASE_CURRENCY": "AUD", "FX": '{"USD": "NaN"}'}, "not a number"),
        ({"FX": "{"}, "PROPDESK_SIMULATOR_FX is a JSON object"),
        ({"FX": '{"USD": "1"}'}, "must not name the base currency"),
        ({"CASH": "0"}, "PROPDESK_SIMULATOR_CASH: must be greater than 0"),
        ({"CASH": "0.000000001"}, "at most 8 decimals"),
        ({"LOG_LEVEL": "loud"}, "PROPDESK_SIMULATOR_LOG_LEVEL"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_accepted(environment, variables, words):
    environment(**({"DIR": "/tmp/broker"} if variables and "DIR" not in variables else {}), **variables)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert words in str(caught.value)
