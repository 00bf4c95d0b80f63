"""What a client asks, as frozen values; how they stand on the wire is `inbound`'s."""

import msgspec

from shared.protocol.money import Exact


class Contract(msgspec.Struct, frozen=True):
    """An instrument as a client names it; empty is not stated."""

    con_id: int = 0
    symbol: str = ""
    sec_type: str = ""
    exchange: str = ""
    primary_exchange: str = ""
    currency: str = ""
    local_symbol: str = ""
    trading_class: str = ""


class StartApi(msgspec.Struct, frozen=True):
    """The client id of this connection."""

    client: int


class MarketData(msgspec.Struct, frozen=True):
    """Quotes of one contract, once or until cancelled."""

    req: int
    contract: Contract
    snapshot: bool


class PlaceOrder(msgspec.Struct, frozen=True):
    """A new order."""

    order_id: int
    contract: Contract
    action: str
    quantity: Exact | None
    order_type: str
    limit: Exact | None
    tif: str
    account: str
    reference: str
    outside_hours: bool
    transmit: bool
    what_if: bool


class CancelOrder(msgspec.Struct, frozen=True):
    """End an order of this client."""

    order_id: int


class ContractDetails(msgspec.Struct, frozen=True):
    """All instruments that fit."""

    req: int
    contract: Contract


class History(msgspec.Struct, frozen=True):
    """Bars; `duration` such as `6 M`, `bar_size` such as `1 day`."""

    req: int
    contract: Contract
    end: str
    bar_size: str
    duration: str
    what: str
    date_format: int


class Executions(msgspec.Struct, frozen=True):
    """Executions of the day; `client` 0 and empty texts are all."""

    req: int
    client: int
    symbol: str
    side: str


class AccountSummary(msgspec.Struct, frozen=True):
    """Sums of all accounts; `tags` as sent, `$LEDGER:ALL` among them."""

    req: int
    tags: tuple[str, ...]


class AccountUpdates(msgspec.Struct, frozen=True):
    """Subscribe to an account, or no longer."""

    subscribe: bool
    account: str


class AccountUpdatesMulti(msgspec.Struct, frozen=True):
    """Subscribe to the sums of an account under a request id."""

    req: int
    account: str


class Numbered(msgspec.Struct, frozen=True):
    """A message that carries one number: a request id, a rule, a data type; `kind` is its name in `MESSAGES`."""

    kind: str
    number: int


class Plain(msgspec.Struct, frozen=True):
    """A message that carries nothing; `kind` is its name in `MESSAGES`."""

    kind: str


Request = (
    StartApi | MarketData | PlaceOrder | CancelOrder | ContractDetails | History | Executions | AccountSummary
    | AccountUpdates | AccountUpdatesMulti | Numbered | Plain
)  # fmt: skip
