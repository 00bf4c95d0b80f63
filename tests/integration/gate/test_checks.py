"""`rpc.gate.check`: judged on fresh quotes, changing nothing."""

import json
from typing import Any

import pytest

from services.gate.checks import Checks
from shared.bus.memory import MemoryRpc
from shared.protocol.envelope import canonical
from shared.protocol.market import Side
from tests.support.scribe import CLOSE, OPEN, SESSION, SLOT, Scribe
from tests.unit.gate.walk import observed


class Asking:
    """A desk with the book `alpha`, an executor that answers with quotes, and the gate's checks."""

    def __init__(self, scribe: Scribe, answer: Any = None) -> None:
        self.scribe, self.asked = scribe, []  # type: tuple[Scribe, list[Any]]
        self.rpc = MemoryRpc()
        self._answer = answer
        self.checks = Checks(lambda: scribe.state, self.rpc, timeout_s=1)

    async def serve(self) -> "Asking":
        async def quotes(payload: bytes) -> bytes:
            self.asked.append(json.loads(payload))
            if self._answer is not None:
                return json.dumps(self._answer).encode()
            seen = observed("check", SLOT, {"AAA": "100", "BBB": "50"})
            fields = {"quotes": seen.quotes, "ticks": seen.ticks, "fx": seen.fx, "sessions": seen.sessions}
            return canonical({"at": SLOT, **fields})

        await self.rpc.serve("rpc.executor.quotes", quotes)
        return self

    async def check(self, request: Any) -> Any:
        payload = request if isinstance(request, bytes) else json.dumps(request).encode()
        return json.loads(await self.checks.answer(payload))


def buy(**changes: Any) -> dict[str, Any]:
    return {"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": "10", "limit": "100", **changes}


def open_desk() -> Scribe:
    return Scribe().open_desk("alpha")


async def test_orders_are_judged_on_fresh_quotes_for_what_is_asked_and_held() -> None:
    scribe = open_desk()
    scribe.fill("20220930T1030-alpha-1-1", "e1", "BBB", Side.BUY, "2", "50")
    before = scribe.state
    asking = await Asking(scribe).serve()
    result = await asking.check({"book": "alpha", "orders": [buy(), buy(quantity="90"), buy(symbol="ZZZZ")]})

    assert asking.asked == [{"keys": ["AAA:USD", "BBB:USD"]}]
    assert [row["approved"] for row in result["decisions"]] == [True, False, False]
    # 25 % of (9999 − 1) holds 24 of AAA, 10 of them are bought by the first order
    assert result["decisions"][1]["largest"] == "14"
    assert (result["policy_hash"], result["value"]) == ("p", "9999")
    assert scribe.state is before


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (b"{", "not valid JSON"),
        (b" " * 70_000, "more than 65536 bytes"),
        ({"book": "alpha"}, "orders is missing"),
        ({"book": "ghost", "orders": []}, "there is no book 'ghost'"),
        ({"book": "alpha", "orders": [buy(quantity=True)]}, "orders[0].quantity = true"),
        ({"book": "alpha", "orders": [buy()] * 100}, "at most 99"),
        ({"book": "alpha", "orders": [], "dry": True}, "unknown key 'dry'"),
    ],
)
async def test_a_wrong_request_is_answered_with_what_is_wrong(request_: Any, told: str) -> None:
    asking = await Asking(open_desk()).serve()
    error = (await asking.check(request_))["error"]

    assert error["code"] == "bad_request"
    assert told in error["message"]


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": "broker_lost", "message": "gone"}},
        {"at": None, "quotes": [], "ticks": {}, "fx": {}, "sessions": {}},
        {"quotes": "none"},
    ],
)
async def test_without_quotes_there_is_no_check_now(answer: Any) -> None:
    asking = await Asking(open_desk(), answer).serve()

    assert (await asking.check({"book": "alpha", "orders": []}))["error"]["code"] == "not_now"


async def test_without_an_executor_there_is_no_check_now() -> None:
    asking = Asking(open_desk())

    assert (await asking.check({"book": "alpha", "orders": []}))["error"]["code"] == "not_now"


async def test_the_times_of_the_answer_count() -> None:
    session = {"SMART": {"open": True, "day": SESSION, "opens_at": OPEN, "closes_at": CLOSE}}
    quote = {"symbol": "AAA", "currency": "USD", "kind": "sim", "at": OPEN, "last": "100"}
    asking = await Asking(open_desk(), {"at": SLOT, "quotes": [quote], "ticks": {}, "fx": {}, "sessions": session}).serve()
    (decision,) = (await asking.check({"book": "alpha", "orders": [buy()]}))["decisions"]

    assert [why["rule"] for why in decision["reasons"]] == ["quote_age"]
