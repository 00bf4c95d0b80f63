"""What a client may ask: one JSON object per line, told apart by `op`, decoded strictly."""

from typing import Annotated, Final

import msgspec

from services.simulator.encoding import decode_exact
from services.simulator.orders import Step
from services.simulator.scenario import MarketScript
from shared.protocol.instants import Day, Instant
from shared.protocol.market import MAX_SYMBOL_CHARS, Side
from shared.protocol.money import Exact

MAX_KEYS: Final = 1_000
MAX_SYMBOLS: Final = 500
MAX_BARS: Final = 5_000
MAX_ROWS: Final = 50_000
MAX_ID: Final = 2**53
MAX_SHOWN_CHARS: Final = 40

Id = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]
Client = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.\-]{1,64}$")]
Ref = Annotated[str, msgspec.Meta(pattern=r"^[ -~]{1,64}$")]
Symbol = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SYMBOL_CHARS)]
Currency = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}$")]
Number = Annotated[int, msgspec.Meta(ge=1, le=MAX_ID)]


class RequestError(Exception):
    """A request that is answered with an error: `code` for programs, the message for people; `id` None if it had none."""

    def __init__(self, code: str, message: str, request_id: int | None = None) -> None:
        """Keep the parts of the answer."""
        super().__init__(message)
        self.code, self.request_id = code, request_id


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op"):
    """Base: every request carries the client's number for it, which the answer repeats."""

    id: Id


class Hello(Request, frozen=True, tag="hello"):
    """The first line of every connection: who is speaking."""

    client: Client


class DropSession(Request, frozen=True, tag="drop_session"):
    """End the connection that is served for another client id."""

    client: Client


class AdvanceTo(Request, frozen=True, tag="advance"):
    """Move time; a time that has come already is no error."""

    to: Instant
    step: Step
    session: Day


class Clock(Request, frozen=True, tag="clock"):
    """Ask for nothing but the time that stands in every answer."""


class Wait(Request, frozen=True, tag="wait"):
    """Be answered once the clock is at or after `to`; later requests are answered meanwhile."""

    to: Instant


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An instrument."""

    symbol: Symbol
    currency: Currency


class Quotes(Request, frozen=True, tag="quotes"):
    """Quotes of these instruments, with ticks, rates and the exchange's session."""

    keys: Annotated[list[Key], msgspec.Meta(max_length=MAX_KEYS)]


class History(Request, frozen=True, tag="history"):
    """The last `count` complete daily bars of each symbol."""

    symbols: Annotated[list[Symbol], msgspec.Meta(max_length=MAX_SYMBOLS)]
    count: Annotated[int, msgspec.Meta(ge=1, le=MAX_BARS)]


class PlaceOrder(Request, frozen=True, tag="place"):
    """A DAY limit order. The same reference twice is two orders."""

    ref: Ref
    symbol: Symbol
    currency: Currency
    side: Side
    quantity: Exact
    limit: Exact


class Sync(Request, frozen=True, tag="sync"):
    """An end marker: everything this connection asked before is complete."""


class CancelOrder(Request, frozen=True, tag="cancel"):
    """End a working order; of one that has ended the final state is answered."""

    perm_id: Number


class Orders(Request, frozen=True, tag="orders"):
    """Orders by permanent id: all, of one reference, after an id, only working ones, at most `limit`."""

    ref: Ref | None = None
    open_only: bool = False
    after: Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)] = 0
    limit: Number | None = None


class Executions(Request, frozen=True, tag="executions"):
    """Executions with a number above `after`, at most `limit`."""

    after: Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)] = 0
    limit: Number | None = None


class Positions(Request, frozen=True, tag="positions"):
    """All holdings."""


class Account(Request, frozen=True, tag="account"):
    """Cash and net liquidation value."""


class ScriptMarket(Request, frozen=True, tag="script"):
    """Script the market from here on, over what the scenario file says and what was scripted before."""

    script: MarketScript


class Fault(Request, frozen=True, tag="fault"):
    """Make something go wrong at the TWS face, which reads `fault`."""

    fault: msgspec.Raw


Query = Clock | Quotes | History | Sync | Orders | Executions | Positions | Account
Change = AdvanceTo | PlaceOrder | CancelOrder | ScriptMarket
AnyRequest = Hello | DropSession | Wait | Fault | Query | Change


class _Head(msgspec.Struct):
    """What an answer to a wrong request needs."""

    id: Id
    op: str


_HEAD: Final = msgspec.json.Decoder(_Head)
_REQUEST: Final = msgspec.json.Decoder(AnyRequest, dec_hook=decode_exact)
OPS: Final = tuple(sorted(kind.__struct_config__.tag for kind in AnyRequest.__args__))


def read_request(line: bytes) -> AnyRequest:
    """Decode one line; raises `RequestError` that says where it is wrong."""
    try:
        head = _HEAD.decode(line)
    except msgspec.ValidationError as error:
        raise RequestError("bad_request", f"{error}: send an object with a whole number `id` and a text `op`") from error
    except (ValueError, RecursionError) as error:
        raise RequestError("bad_json", f"not JSON ({error}): send one JSON object per line in UTF-8") from error
    if head.op not in OPS:
        known = ", ".join(OPS)
        raise RequestError("unknown_op", f"no op {head.op[:MAX_SHOWN_CHARS]!a}; there are {known}", head.id)
    try:
        return _REQUEST.decode(line)
    except (ValueError, RecursionError) as error:
        raise RequestError("bad_request", f"{head.op}: {error}", head.id) from error
