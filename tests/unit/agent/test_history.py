"""Past closes as the executor is asked for them and answers."""

import json

import pytest

from services.agent.history import HistoryAsk, HistoryError, read_answer
from services.agent.sources import Close
from shared.protocol.money import Exact

ASK = HistoryAsk("2022-10-03", ("AAA:USD", "BBB:AUD", "CCC:USD"), 127)


def answer(**fields: object) -> bytes:
    """An answer of the executor."""
    return json.dumps({"session": "2022-10-03", "bars": {}, **fields}).encode()


def bar(day: str, close: str | None) -> dict[str, str | None]:
    """A bar of a file that has closes only."""
    return {"date": day, "open": None, "high": None, "low": None, "close": close, "volume": None}


def asked(ask: HistoryAsk) -> list[tuple[str, object]]:
    """Currency and document of each request."""
    return [(currency, json.loads(payload)) for currency, payload in ask.requests()]


def test_each_currency_is_asked_for_apart() -> None:
    assert asked(ASK) == [
        ("AUD", {"symbols": ["BBB"], "currency": "AUD", "count": 127}),
        ("USD", {"symbols": ["AAA", "CCC"], "currency": "USD", "count": 127}),
    ]


def test_many_names_are_asked_for_25_at_a_time() -> None:
    names = tuple(f"N{number:02d}:USD" for number in reversed(range(60)))

    symbols = [document["symbols"] for _, document in asked(HistoryAsk("2022-10-03", names, 2))]  # type: ignore[index]

    assert [len(chunk) for chunk in symbols] == [25, 25, 10]
    assert [symbol for chunk in symbols for symbol in chunk] == sorted(key[:3] for key in names)


def test_closes_come_by_key_and_oldest_first() -> None:
    payload = answer(bars={"AAA": [bar("2022-09-30", "2.5"), bar("2022-09-29", "2")], "CCC": []})

    assert read_answer(ASK, "USD", payload) == {
        "AAA:USD": (Close("2022-09-29", Exact(2)), Close("2022-09-30", Exact("2.5"))),
        "CCC:USD": (),
    }


def test_the_running_session_later_ones_and_unknown_closes_are_left_out() -> None:
    bars = [bar("2022-09-30", None), bar("2022-09-29", "2"), bar("2022-10-03", "9"), bar("2022-10-04", "9")]

    assert read_answer(ASK, "USD", answer(bars={"AAA": bars})) == {"AAA:USD": (Close("2022-09-29", Exact(2)),)}


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b'{"error":{"code":"busy","message":"no broker"}}', "busy: no broker"),
        (answer(session="2022-10-04"), "of the session '2022-10-04', asked was 2022-10-03"),
        (b"[]", "Expected `object`"),
        (b"", "not a"),
        (answer(bars={"AAA": [{"date": "2022-09-29", "close": 2.5}]}), "canonical form"),
    ],
)
def test_what_cannot_be_used_says_why(payload: bytes, says: str) -> None:
    with pytest.raises(HistoryError) as raised:
        read_answer(ASK, "USD", payload)

    assert says in str(raised.value)
