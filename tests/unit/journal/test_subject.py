"""What a name on the command line names."""

import pytest

from services.journal.subject import Kind, Subject, SubjectError, read_subject

RUN = "20221003T1030-momentum-1"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (RUN, Subject(Kind.RUN, RUN, RUN)),
        (f" {RUN}\n", Subject(Kind.RUN, RUN, RUN)),
        ("20221003T1030-a_1-k3", Subject(Kind.RUN, "20221003T1030-a_1-k3", "20221003T1030-a_1-k3")),
        (f"{RUN}-1", Subject(Kind.ORDER, f"{RUN}-1", RUN)),
        (f"{RUN}-99", Subject(Kind.ORDER, f"{RUN}-99", RUN)),
        ("0000e0d5.63.01", Subject(Kind.EXECUTION, "0000e0d5_63_01")),
        ("0000e0d5_63_01", Subject(Kind.EXECUTION, "0000e0d5_63_01")),
        (f"{RUN}-0", Subject(Kind.EXECUTION, f"{RUN}-0")),
        (f"gate:Verdict:{RUN}", Subject(Kind.RUN, RUN, RUN)),
        (f"executor:MarketObserved:{RUN}:2", Subject(Kind.RUN, RUN, RUN)),
        (f"executor:OrderPlaced:{RUN}-7", Subject(Kind.ORDER, f"{RUN}-7", RUN)),
        ("executor:FillSettled:0001_1", Subject(Kind.EXECUTION, "0001_1")),
        (f"executor:FillSettled:{RUN}", Subject(Kind.EXECUTION, RUN)),
        ("desk:CancelOrdered:cli-7", Subject(Kind.EVENT, "desk:CancelOrdered:cli-7")),
        ("gate:BookValued:eq-20221003T200000Z", Subject(Kind.EVENT, "gate:BookValued:eq-20221003T200000Z")),
    ],
)
def test_a_name_is_a_run_an_order_an_execution_or_an_event(text: str, found: Subject) -> None:
    assert read_subject(text) == found


@pytest.mark.parametrize(
    "text", ["", " ", "a b", "nobody:Verdict:x", "gate:Verdict", "../etc", "\x1b[31m", "é", "x" * 200, "a:b:c:d:e"]
)
def test_what_can_name_nothing_is_refused_with_the_forms_of_names(text: str) -> None:
    with pytest.raises(SubjectError, match="a run is like 20221003T1030-momentum-1") as caught:
        read_subject(text)
    assert str(caught.value).isascii() or "…" in str(caught.value)
    assert "\x1b" not in str(caught.value)
