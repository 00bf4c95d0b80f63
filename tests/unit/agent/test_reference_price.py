"""The reference price: `last` inside bid and ask, else their middle, else the previous close if the policy admits it."""

import pytest

from shared.protocol.market import Quote, QuoteKind
from shared.protocol.money import Exact
from shared.protocol.reference import reference_price

SIM = (QuoteKind.SIM,)
WITH_CLOSE = (QuoteKind.SIM, QuoteKind.CLOSE)


@pytest.mark.parametrize(
    ("bid", "ask", "last", "close", "expected"),
    [
        ("9", "11", "10", "5", "10"),
        ("9", "11", "9", "5", "9"),
        ("9", "11", "11", "5", "11"),
        ("9", "11", "8.99", "5", "10"),
        ("9", "11", "11.01", "5", "10"),
        ("9", "11", None, "5", "10"),
        (None, None, "8", "5", "8"),
        ("10.01", "10.02", None, None, "10.015"),
        (None, None, None, "5", "5"),
        # one side only: it is believed, but makes no middle
        ("9", None, "9", None, "9"),
        ("9", None, "8", "5", "5"),
        (None, "9", "10", "5", "5"),
        # 0, −1 and absurd numbers are how sources say "unknown"
        ("0", "0", "8", "5", "8"),
        ("-1", "-1", "-1", "5", "5"),
        ("9", "11", "1000000000000", None, "10"),
        (None, None, None, None, None),
        ("0", "0", "0", "0", None),
    ],
)
def test_the_price_is_the_first_that_can_be_believed(
    bid: str | None, ask: str | None, last: str | None, close: str | None, expected: str | None
) -> None:
    fields = {
        name: None if text is None else Exact(text)
        for name, text in (("bid", bid), ("ask", ask), ("last", last), ("close", close))
    }
    quote = Quote("AAA", "USD", QuoteKind.SIM, "2022-10-03T14:30:00.000000Z", **fields)

    assert reference_price(quote, WITH_CLOSE) == (None if expected is None else Exact(expected))


def test_the_previous_close_counts_only_where_the_policy_admits_it() -> None:
    quote = Quote("AAA", "USD", QuoteKind.SIM, "2022-10-03T14:30:00.000000Z", close=Exact(5))

    assert reference_price(quote, SIM) is None
    assert reference_price(quote, WITH_CLOSE) == 5
