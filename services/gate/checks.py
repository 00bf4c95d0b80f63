"""`rpc.gate.check`: the gate's judgement of orders that nobody has proposed yet; it places and changes nothing."""

from collections.abc import Callable
from typing import Final

import msgspec

from services.gate.books import book_view
from services.gate.inputs import Fields, InputError, parse_json
from services.gate.market import Market, observed_market
from services.gate.orders import judgement_document, read_orders
from services.gate.verdict import judge
from shared.bus.ports import BusError, Rpc
from shared.ledger.names import judged_names
from shared.ledger.state import State
from shared.protocol.envelope import EnvelopeError, canonical, clean_text, decode
from shared.protocol.events import MarketObserved
from shared.protocol.ids import MAX_ORDERS
from shared.protocol.instants import Instant
from shared.protocol.market import ExchangeSession, ProposedOrder, Quote, instrument_key
from shared.protocol.money import Exact
from shared.protocol.policy import Policy

QUOTES: Final = "rpc.executor.quotes"
MAX_REQUEST_BYTES: Final = 64 * 1024
MAX_ERROR_CHARS: Final = 500


class Seen(msgspec.Struct, frozen=True):
    """The answer of `rpc.executor.quotes`: what the market shows at `at`; what is absent is unknown."""

    at: Instant | None
    quotes: tuple[Quote, ...]
    ticks: dict[str, Exact]
    fx: dict[str, Exact]
    sessions: dict[str, ExchangeSession]


class NotNow(Exception):
    """A check that cannot be made at present, and why."""


class Checks:
    """Answers checks on the newest folded state and quotes fetched for the names asked and held."""

    def __init__(self, state: Callable[[], State], rpc: Rpc, timeout_s: float) -> None:
        """Read `state` at each request; a request for quotes takes at most `timeout_s`."""
        self._state, self._rpc, self._timeout_s = state, rpc, timeout_s

    async def answer(self, payload: bytes) -> bytes:
        """`{"book", "orders": [...]}` → what `propdesk gate check` prints, or `{"error": {"code", "message"}}`."""
        try:
            return canonical(await self._check(payload))
        except InputError as error:
            return _error("bad_request", error)
        except (NotNow, BusError, EnvelopeError) as error:
            return _error("not_now", error)

    async def _check(self, payload: bytes) -> dict[str, object]:
        """Judge the orders of a request."""
        name, orders = _request(payload)
        adopted = self._state().policy
        if adopted is None or name not in self._state().books:
            raise InputError(f"book: there is no book {name!r}")
        asked = {instrument_key(order.symbol, order.currency) for order in orders}
        priced = {key for key in asked if adopted.policy.instrument(key) is not None}
        market = await self._market(judged_names(self._state(), name, priced), adopted.policy)
        judged = judge(adopted.policy, book_view(self._state(), adopted.policy, name, market.at), market, orders)
        return judgement_document(judged, adopted.policy_hash)

    async def _market(self, keys: tuple[str, ...], policy: Policy) -> Market:
        """Fresh quotes from the executor."""
        answer = await self._rpc.request(QUOTES, canonical({"keys": list(keys)}), self._timeout_s)
        failure = parse_json(answer, QUOTES)
        if isinstance(failure, dict) and "error" in failure:
            raise NotNow(f"no quotes: {failure['error']}")
        seen = decode(Seen, answer)
        if seen.at is None:
            raise NotNow("no quotes: desk time is not known yet")
        return observed_market(seen.at, MarketObserved("check", seen.quotes, seen.ticks, seen.fx, seen.sessions), policy)


def _request(payload: bytes) -> tuple[str, tuple[ProposedOrder, ...]]:
    """Book and orders of a request."""
    if len(payload) > MAX_REQUEST_BYTES:
        raise InputError(f"request: more than {MAX_REQUEST_BYTES} bytes")
    fields = Fields(parse_json(payload, "request"), "request", ("book", "orders"))
    orders = read_orders(fields.raw("orders"), "orders")
    if len(orders) > MAX_ORDERS:
        raise InputError(f"orders: {len(orders)}, at most {MAX_ORDERS}")
    return fields.text("book"), orders


def _error(code: str, error: Exception) -> bytes:
    """An error document."""
    return canonical({"error": {"code": code, "message": clean_text(str(error) or code, MAX_ERROR_CHARS)}})
