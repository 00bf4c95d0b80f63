"""What can be made to go wrong: one value per fault, as a control message or a scenario file names it (`name` and its fields).

Faults of the next orders and cancels are armed and used up (`count`); `ref` limits them to one order reference. The others act at
once. `docs/simulator.md` lists them; the texts there are these docstrings.
"""

from typing import Annotated, Final, Literal

import msgspec

from services.simulator.encoding import decode_exact
from shared.protocol.instants import Instant
from shared.protocol.market import Side
from shared.protocol.money import Exact

MAX_COUNT: Final = 1_000_000
MAX_TEXT: Final = 1_000

Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_COUNT)]
Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
Code = Annotated[int, msgspec.Meta(ge=1, le=99_999)]
ClientId = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class FaultError(ValueError):
    """A fault that cannot be done, and why."""


class _Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name"):
    """Base: told apart by `name`."""


class _OfOrder(_Fault, frozen=True):
    """Base of what is armed for the next orders with this reference (empty: any)."""

    ref: Text = ""
    count: Count = 1


class Refuse(_OfOrder, frozen=True, tag="refuse"):
    """Answer a new order with this error alone; the order does not exist (110, 200, 203, 321, …)."""

    code: Code = 201
    text: Text = "Order rejected - reason: a scenario said so"
    advanced: Text = ""


class Reject(_OfOrder, frozen=True, tag="reject"):
    """Take a new order and reject it: a) the error alone, b) Inactive and then the error, c) the error and then Inactive."""

    variant: Literal["a", "b", "c"] = "b"
    code: Code = 201
    text: Text = "Order rejected - reason: a scenario said so"
    advanced: Text = ""


class Notice(_OfOrder, frozen=True, tag="notice"):
    """Take a new order and say this beside it; the order is live (399, 404, 10349). `why_held` holds it until `release`."""

    code: Code = 399
    text: Text = "Order Message: a scenario said so"
    why_held: Text = ""


class Drop(_OfOrder, frozen=True, tag="drop"):
    """Lose a new order without any answer; it never appears anywhere."""


class Swallow(_OfOrder, frozen=True, tag="swallow"):
    """Take a new order and end the connection before a byte of the answer."""


class Rest(_OfOrder, frozen=True, tag="rest"):
    """Let a new order rest until a scenario fills or ends it: neither quote nor bar matches it."""


class Twice(_OfOrder, frozen=True, tag="twice"):
    """Send everything about a new order twice: every status, or every execution."""

    what: Literal["status", "execution"] = "status"


class Commission(_OfOrder, frozen=True, tag="commission"):
    """When the commissions of a new order are told: `now`, `late` (at `release`), on `request`, `before` the execution, `never`.

    `unset` tells them at once as the number that means nothing, `minus_one` as -1.
    """

    when: Literal["now", "late", "request", "before", "never", "unset", "minus_one"] = "late"


class CancelRace(_OfOrder, frozen=True, tag="cancel_race"):
    """Fill an order while its cancel is under way: `quantity` of it (nothing: the rest) at its limit; the rest is cancelled."""

    quantity: Exact | None = None


class CancelRefused(_OfOrder, frozen=True, tag="cancel_refused"):
    """Answer a cancel with this error (161, 10147, 10148, 10149) and let the order be as it is."""

    code: Code = 10147
    text: Text = "OrderId that needs to be cancelled is not found."


class CancelSilent(_OfOrder, frozen=True, tag="cancel_silent"):
    """Do not answer a cancel; the order goes on."""


class CancelTwice(_OfOrder, frozen=True, tag="cancel_twice"):
    """Tell of a cancel by 202, the status and 202 again."""


OfPlacing = Refuse | Reject | Notice | Drop | Swallow | Rest | Twice | Commission
OfCancelling = CancelRace | CancelRefused | CancelSilent | CancelTwice


class Execute(_Fault, frozen=True, tag="execute"):
    """Fill the newest order of a reference, working or ended, and tell the client unless `silent`; no price: at its limit."""

    ref: Text
    quantity: Exact | None = None
    price: Exact | None = None
    silent: bool = False


class Revise(_Fault, frozen=True, tag="revise"):
    """Correct an execution (the newest of a reference): the next revision with another quantity or price."""

    ref: Text
    quantity: Exact | None = None
    price: Exact | None = None
    silent: bool = False


class EndOrder(_Fault, frozen=True, tag="end_order"):
    """Cancel the newest working order of a reference on the broker's side."""

    ref: Text


class Manual(_Fault, frozen=True, tag="manual"):
    """A trade made by hand: no client, no order id, no reference."""

    symbol: Text
    side: Side
    quantity: Exact
    price: Exact


class Release(_Fault, frozen=True, tag="release"):
    """Tell all late commissions and let go of what is held."""


class Say(_Fault, frozen=True, tag="say"):
    """Send an error or notice of any code, about an id (-1: none), to one client or all."""

    code: Code
    text: Text = ""
    about: int = -1
    client: ClientId | None = None


class Lost(_Fault, frozen=True, tag="lost"):
    """1100: the gateway has lost the broker; nothing is answered, and fills meanwhile are told `later` or `never`."""

    fills: Literal["later", "never"] = "later"


class Restored(_Fault, frozen=True, tag="restored"):
    """1101 (subscriptions lost) or 1102 (kept)."""

    code: Literal[1101, 1102] = 1102


class HalfOpen(_Fault, frozen=True, tag="half_open"):
    """The gateway reads and accepts, and answers nothing, as long as this is on."""

    on: bool = True


class Abort(_Fault, frozen=True, tag="abort"):
    """End the connection of one client or of all."""

    client: ClientId | None = None


class Restart(_Fault, frozen=True, tag="restart"):
    """The gateway ends and starts: sessions and subscriptions die, the broker goes on.

    `refusing`: it stays away until `up`. `rollback`: the next valid order id is so much lower than before. `forgets`: so many of
    the newest orders never reached the broker.
    """

    refusing: bool = False
    rollback: Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)] = 0
    forgets: Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)] = 0


class Up(_Fault, frozen=True, tag="up"):
    """The gateway accepts connections again."""


class NoEnd(_Fault, frozen=True, tag="no_end"):
    """Withhold the end marker of the next lists of this kind."""

    of: Literal["positions", "open_orders", "completed_orders", "account", "executions", "summary", "contracts", "account_multi"]
    count: Count = 1


class Ready(_Fault, frozen=True, tag="ready"):
    """Whether the account's numbers are current: not ready means `AccountReady` false and a net liquidation value of 0."""

    on: bool = True


class Frames(_Fault, frozen=True, tag="frames"):
    """Write `glue` frames at a time (0: all that wait), in pieces of `split` bytes (0: whole)."""

    split: Annotated[int, msgspec.Meta(ge=0, le=65_536)] = 0
    glue: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0


class Noise(_Fault, frozen=True, tag="noise"):
    """Send a message that no client expects: malformed, of an unknown id, or a completed order that nobody asked for."""

    kind: Literal["malformed", "unknown", "completed"]


class Data(_Fault, frozen=True, tag="data"):
    """Market data of shares from now on: live, delayed only (10167), none (354), a competing session (10197), or no prices."""

    kind: Literal["live", "delayed", "none", "competing", "empty"]


class Zone(_Fault, frozen=True, tag="zone"):
    """The time zone that executions name from now on, known to the client or not."""

    zone: Text = "MEZ"


class Limits(_Fault, frozen=True, tag="limits"):
    """Enforce the limit of 50 messages a second (100; the third time ends the connection) or no longer."""

    on: bool = True


AtOnce = (
    Execute | Revise | EndOrder | Manual | Release | Say | Lost | Restored | HalfOpen | Abort | Restart | Up | NoEnd | Ready
    | Frames | Noise | Data | Zone | Limits
)  # fmt: skip
Fault = OfPlacing | OfCancelling | AtOnce


class Scheduled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a scenario file: a fault, at a time of the simulator's clock (nothing: from the start)."""

    fault: Fault
    at: Instant | None = None


_FAULT: Final = msgspec.json.Decoder(Fault, dec_hook=decode_exact)
_SCHEDULED: Final = msgspec.json.Decoder(Scheduled, dec_hook=decode_exact)


def read_fault(document: bytes) -> Fault:
    """A fault from JSON; raises `FaultError` that says where it is wrong."""
    try:
        return _FAULT.decode(document)
    except (ValueError, RecursionError) as error:
        raise FaultError(f"no fault: {error}") from error


def read_scenario(lines: bytes) -> list[Scheduled]:
    """A scenario file: one JSON object a line; blank lines and those that begin with # are skipped. Raises `FaultError`."""
    found = []
    for number, line in enumerate(lines.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        try:
            found.append(_SCHEDULED.decode(line))
        except (ValueError, RecursionError) as error:
            raise FaultError(f"line {number}: {error}") from error
    return found
