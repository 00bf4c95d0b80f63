"""Where an existing stream is not the wanted one."""

import pytest

from shared.bus.stream import CONFIG, differences


def test_the_wanted_configuration_has_no_difference() -> None:
    assert differences(dict(CONFIG)) == []


def test_what_the_server_adds_empty_or_for_itself_is_no_difference() -> None:
    added = {"consumer_limits": {}, "allow_msg_counter": False, "metadata": {"_nats.ver": "2.15.1"}, "description": "ours"}
    assert differences({**CONFIG, **added}) == []


@pytest.mark.parametrize("field", sorted(CONFIG))
def test_every_field_that_is_missing_is_named(field: str) -> None:
    config = {name: value for name, value in CONFIG.items() if name != field}
    assert differences(config) == [f"{field} is None, must be {CONFIG[field]!r}"]


def test_a_field_that_we_do_not_know_is_a_difference_when_it_is_set() -> None:
    assert differences({**CONFIG, "republish": {"src": ">"}}) == ["republish is {'src': '>'}, must not be set"]
