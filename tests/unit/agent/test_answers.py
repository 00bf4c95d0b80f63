"""What the log keeps of a source's answer."""

import pytest
from msgspec.structs import replace

from services.agent.answers import MAX_PROPOSAL_BYTES, answer_of
from services.agent.sources import Fault, Proposal
from shared.protocol.envelope import canonical
from shared.protocol.events import ProposalMade, SourceFailed
from shared.protocol.market import ProposedOrder
from shared.protocol.reasons import SourceFault, StopReason

ORDER = ProposedOrder("AAA", "USD", "BUY", "1", "10")


def kept(order: ProposedOrder) -> ProposedOrder:
    """The order as the log keeps it."""
    made = answer_of("x", Proposal((order,), "s"))
    assert isinstance(made, ProposalMade)
    return made.orders[0]


def test_99_orders_are_a_proposal_and_100_are_a_fault() -> None:
    assert isinstance(answer_of("x", Proposal((ORDER,) * 99, "s")), ProposalMade)
    assert answer_of("x", Proposal((ORDER,) * 100, "s")) == SourceFailed(
        SourceFault.TOO_MANY_ORDERS, "100 orders; a proposal has at most 99"
    )


@pytest.mark.parametrize(
    ("written", "stands"),
    [
        ("1.50", "1.5"),
        ("1E+3", "1000"),
        ("-0", "0"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
        (None, None),
    ],
)
def test_numbers_stand_in_one_form(written: str | None, stands: str | None) -> None:
    found = kept(replace(ORDER, quantity=written, limit=written))

    assert (found.quantity, found.limit) == (stands, stands)


@pytest.mark.parametrize("text", ["", "ten", "1,5", "1_0", "٣", "nan", "inf", "1e99", "9" * 65])
def test_what_is_no_number_is_a_fault_that_names_order_and_field(text: str) -> None:
    failed = answer_of("x", Proposal((ORDER, replace(ORDER, limit=text)), "s"))

    assert isinstance(failed, SourceFailed)
    assert failed.kind is SourceFault.INVALID
    assert failed.message.startswith("order 2: limit: ")


@pytest.mark.parametrize("symbol", ["A" * 33, "A\0A", "\u212aO", "A\ud800"])
def test_a_name_that_would_change_on_its_way_into_the_log_is_a_fault_and_never_mended(symbol: str) -> None:
    for field in ("symbol", "currency", "side", "exchange"):
        failed = answer_of("x", Proposal((replace(ORDER, **{field: symbol}),), "s"))

        assert isinstance(failed, SourceFailed)
        assert failed.message.startswith("order 1: ")


def test_a_look_alike_name_in_normal_form_stands_for_the_gate_to_refuse() -> None:
    assert kept(replace(ORDER, symbol="ААА")).symbol == "ААА"


def test_texts_are_cleaned_and_cut_at_their_bounds() -> None:
    made = answer_of("x", Proposal((replace(ORDER, reason="r\0" * 600),), "s" * 3000, StopReason.HELD))

    assert isinstance(made, ProposalMade)
    assert made.orders[0].reason == "r" * 500
    assert made.summary == "s" * 2000
    assert made.stop_reason is StopReason.HELD


def test_a_proposal_that_no_event_can_hold_is_a_fault() -> None:
    wide = replace(ORDER, reason="\N{GRINNING FACE}" * 500)

    fits = answer_of("x", Proposal((wide,) * 28, "s"))
    failed = answer_of("x", Proposal((wide,) * 30, "s"))

    assert isinstance(fits, ProposalMade)
    assert len(canonical(fits)) <= MAX_PROPOSAL_BYTES
    assert isinstance(failed, SourceFailed)
    assert failed.kind is SourceFault.INVALID


def test_a_faults_message_is_cleaned_and_cut() -> None:
    assert answer_of("x", Fault(SourceFault.CRASHED, "m\x1b" * 2500)) == SourceFailed(SourceFault.CRASHED, "m" * 2000)
