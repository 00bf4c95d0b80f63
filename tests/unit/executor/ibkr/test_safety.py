"""Mode, port, account and live lock: every wrong combination is refused with what to do."""

import pytest

from services.executor.ibkr.safety import BrokerUnsafe, Mode, Wanted, check_accounts, check_configuration

LIVE = Wanted("live", 4001, live_lock="U1", live_policy=True)


@pytest.mark.parametrize("mode", ["", "Paper", "PAPER", "demo", "live ", "sim"])
def test_a_mode_is_exactly_paper_or_live(mode):
    with pytest.raises(BrokerUnsafe, match="neither 'paper' nor 'live'"):
        check_configuration(Wanted(mode, 4002))


@pytest.mark.parametrize("port", [7497, 4002, 4004])
def test_paper_ports_are_for_paper_alone(port):
    assert check_configuration(Wanted("paper", port)) is Mode.PAPER
    with pytest.raises(BrokerUnsafe, match=f"port {port} is a paper port and the mode is live"):
        check_configuration(Wanted("live", port, allow_port=True, live_lock="U1", live_policy=True))


@pytest.mark.parametrize("port", [7496, 4001, 4003])
def test_live_ports_are_for_live_alone(port):
    with pytest.raises(BrokerUnsafe, match=f"port {port} is a live port and the mode is paper"):
        check_configuration(Wanted("paper", port, allow_port=True))


def test_any_other_port_has_to_be_meant():
    with pytest.raises(BrokerUnsafe, match="set allow_port = true"):
        check_configuration(Wanted("paper", 5000))
    assert check_configuration(Wanted("paper", 5000, allow_port=True)) is Mode.PAPER


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted("live", 4001, live_policy=True), "PROPDESK_LIVE=<account id>"),
        (Wanted("live", 4001, live_lock="U1"), "a policy that was adopted for live"),
        (Wanted("live", 4001, live_lock="U1", live_policy=True, account="U2"), "must be the same"),
    ],
)
def test_live_needs_its_lock_and_its_policy(wanted, said):
    assert check_configuration(LIVE) is Mode.LIVE
    with pytest.raises(BrokerUnsafe, match=said):
        check_configuration(wanted)


@pytest.mark.parametrize(
    ("mode", "accounts", "wanted", "said"),
    [
        (Mode.PAPER, ["U1234567"], Wanted("paper", 4002), "no paper account"),
        (Mode.LIVE, ["DU1234567"], LIVE, "no live account"),
        (Mode.PAPER, ["DU1", "DU2"], Wanted("paper", 4002), "2 accounts"),
        (Mode.PAPER, [], Wanted("paper", 4002), "0 accounts"),
        (Mode.PAPER, ["DU1"], Wanted("paper", 4002, account="DU2"), "DU2 is configured"),
        (Mode.LIVE, ["U2"], LIVE, "PROPDESK_LIVE is not U2"),
    ],
)
def test_the_one_account_is_of_the_modes_kind_and_the_one_that_is_meant(mode, accounts, wanted, said):
    with pytest.raises(BrokerUnsafe, match=said):
        check_accounts(mode, accounts, wanted)


@pytest.mark.parametrize("account", ["DU1234567", "DUE1", "DF7"])
def test_paper_accounts_begin_with_d_and_live_ones_with_u_or_f(account):
    assert check_accounts(Mode.PAPER, [account], Wanted("paper", 4002)) == account
    assert check_accounts(Mode.LIVE, ["U1"], LIVE) == "U1"
