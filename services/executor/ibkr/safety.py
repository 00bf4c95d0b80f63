"""Before anything is sent: mode, port, account and the live lock have to fit together. Pure; every refusal says what to do."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from services.executor.broker import BrokerError


class Mode(StrEnum):
    """Play money or real money; there is nothing between."""

    PAPER = "paper"
    LIVE = "live"


PORTS: Final = {Mode.PAPER: (7497, 4002, 4004), Mode.LIVE: (7496, 4001, 4003)}
PREFIXES: Final = {Mode.PAPER: ("D",), Mode.LIVE: ("U", "F")}
LIVE_LOCK: Final = "PROPDESK_LIVE"


class BrokerUnsafe(BrokerError):
    """A combination that must not trade; nothing was sent, and trying again does not help."""


class Wanted(msgspec.Struct, frozen=True):
    """What the configuration says. `live_lock` is the value of PROPDESK_LIVE, `account` may be left to the broker's one."""

    mode: str
    port: int
    allow_port: bool = False
    account: str = ""
    live_lock: str = ""
    live_policy: bool = False


def check_configuration(wanted: Wanted) -> Mode:
    """The mode, before any network I/O; raises `BrokerUnsafe`."""
    if wanted.mode not in list(Mode):
        raise BrokerUnsafe(f"mode {wanted.mode!r} is neither 'paper' nor 'live': write one of them, in lower case")
    mode = Mode(wanted.mode)
    other = Mode.LIVE if mode is Mode.PAPER else Mode.PAPER
    if wanted.port in PORTS[other]:
        raise BrokerUnsafe(f"port {wanted.port} is a {other} port and the mode is {mode}: use {_ports(mode)}")
    if wanted.port not in PORTS[mode] and not wanted.allow_port:
        raise BrokerUnsafe(
            f"port {wanted.port} is not one of the {mode} ports ({_ports(mode)}): set allow_port = true if it is meant"
        )
    if mode is Mode.LIVE:
        _check_live(wanted)
    return mode


def check_accounts(mode: Mode, accounts: Sequence[str], wanted: Wanted) -> str:
    """The one account of a connection, which has to be of the mode's kind; raises `BrokerUnsafe`."""
    if len(accounts) != 1:
        raise BrokerUnsafe(
            f"{len(accounts)} accounts ({', '.join(accounts)}) are connected and one is needed: log in to that one alone"
        )
    (account,) = accounts
    if not account.startswith(PREFIXES[mode]):
        raise BrokerUnsafe(
            f"account {account} is no {mode} account (those begin with {' or '.join(PREFIXES[mode])}): check the login"
        )
    if wanted.account not in {"", account}:
        raise BrokerUnsafe(
            f"account {account} is connected and {wanted.account} is configured: check the login or the configuration"
        )
    if mode is Mode.LIVE and wanted.live_lock != account:
        raise BrokerUnsafe(
            f"{LIVE_LOCK} is not {account}, the live account that is connected: set it only if that account is meant"
        )
    return account


def _check_live(wanted: Wanted) -> None:
    """Real money needs its lock and a policy that was adopted for it; raises `BrokerUnsafe`."""
    if not wanted.live_lock:
        raise BrokerUnsafe(f"mode live needs {LIVE_LOCK}=<account id> in the environment")
    if wanted.account and wanted.account != wanted.live_lock:
        raise BrokerUnsafe(f"{LIVE_LOCK} names {wanted.live_lock} and the configuration {wanted.account}: they must be the same")
    if not wanted.live_policy:
        raise BrokerUnsafe("mode live needs a policy that was adopted for live trading")


def _ports(mode: Mode) -> str:
    """The ports of a mode as text."""
    return ", ".join(str(port) for port in PORTS[mode])
