"""What the broker's error codes mean to the executor: the one table. A code that does not stand here is ambiguous."""

from enum import StrEnum
from typing import Final


class Meaning(StrEnum):
    """What a code says. About an order only `rejected`, `cancelled`, `live` and `held` say anything certain."""

    REJECTED = "rejected"
    """The broker did not take a new order; certain only when the order is also absent from the open ones."""
    CANCELLED = "cancelled"
    """The order has ended, once its fills add up."""
    LIVE = "live"
    """Information: the order lives."""
    HELD = "held"
    """The order lives and waits for shares to borrow."""
    AMBIGUOUS = "ambiguous"
    """Ask the broker what is true."""
    NO_DEFINITION = "no_definition"
    """No such instrument, or several; about an order: ask what is true."""
    NO_DATA = "no_data"
    """No quote or no bars: no order."""
    DELAYED = "delayed"
    """The quote is a delayed one."""
    SLOW_DOWN = "slow_down"
    """Too many messages: wait; the third time the gateway ends the connection."""
    ID_IN_USE = "id_in_use"
    """Another connection has this client id: wait and try the same id again."""
    DISCONNECTED = "disconnected"
    """The connection to the broker or the gateway is gone: whatever is on its way is unknown."""
    RESTORED = "restored"
    """The connection to the broker is back with its subscriptions: reconcile."""
    RESTORED_BARE = "restored_bare"
    """The connection to the broker is back without its subscriptions: subscribe again and reconcile."""
    FARM_DOWN = "farm_down"
    """No fresh quotes; the socket stays."""
    NOTICE = "notice"
    """Nothing to do."""


_GROUPS: Final[dict[Meaning, tuple[int, ...]]] = {
    Meaning.REJECTED: (110, 201, 203, 355, 382, 383, 388, 434, 435, 460, 10243, 10311),
    Meaning.CANCELLED: (202,),
    Meaning.LIVE: (399, 2109, 10349),
    Meaning.HELD: (404,),
    Meaning.AMBIGUOUS: (103, 104, 105, 161, 320, 321, 322, 329, 411, 481, 2102, 2137, 10147, 10148, 10149, 10328, 10329),
    Meaning.NO_DEFINITION: (200,),
    Meaning.NO_DATA: (162, 354, 10089, 10090, 10168, 10186, 10197),
    Meaning.DELAYED: (10167,),
    Meaning.SLOW_DOWN: (100,),
    Meaning.ID_IN_USE: (326,),
    Meaning.DISCONNECTED: (501, 502, 503, 504, 505, 507, 1100, 1300, 2110),
    Meaning.RESTORED: (1102,),
    Meaning.RESTORED_BARE: (1101, 2100),
    Meaning.FARM_DOWN: (2103, 2105, 2157),
    Meaning.NOTICE: (165, 300, 366, 2104, 2106, 2107, 2108, 2119, 2158),
}
CODES: Final[dict[int, Meaning]] = {code: meaning for meaning, codes in _GROUPS.items() for code in codes}
"""Meaning by code."""


def meaning(code: int) -> Meaning:
    """What a code says; one that is not listed is ambiguous, never harmless."""
    return CODES.get(code, Meaning.AMBIGUOUS)
