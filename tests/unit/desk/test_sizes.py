"""Events that would be too large are found before anything is written."""

import re

import pytest
from msgspec.structs import replace

from services.desk.errors import UsageError
from services.desk.sizes import check_sizes, limit_of
from services.desk.steps import Plan
from shared.protocol.envelope import Draft, seal
from shared.protocol.events import AccountReconciled, MarketObserved, RunStarted
from shared.protocol.market import Instrument
from tests.unit.desk.histories import plan_of

AT = "2022-11-23T15:30:00.000000Z"


def with_names(count: int, chars: int = 6) -> Plan:
    plan = plan_of()
    universe = tuple(Instrument(f"S{n:0{chars - 1}d}", "SMART", "USD") for n in range(count))
    return replace(plan, policy=replace(plan.policy, policy=replace(plan.policy.policy, universe=universe)))


@pytest.mark.parametrize("count", [0, 1, 20, 1000, 2000])
def test_what_fits_is_not_refused(count: int) -> None:
    check_sizes(with_names(count), count)


@pytest.mark.parametrize(("count", "chars"), [(3000, 6), (4500, 6), (10_000, 6), (2300, 32)])
def test_a_universe_that_does_not_fit_is_refused_with_its_number_and_what_fits(count: int, chars: int) -> None:
    with pytest.raises(UsageError, match=f"a universe of {count} symbols \\({count} in the data\\) is too large") as refused:
        check_sizes(with_names(count, chars), count)
    found = re.search(r"(\d+) symbols fit", str(refused.value))
    assert found is not None
    fits = int(found[1])
    assert 0 < fits < count
    check_sizes(with_names(fits, chars), count)
    with pytest.raises(UsageError):
        check_sizes(with_names(fits + 1, chars), count)


def test_the_largest_run_that_is_allowed_really_fits_into_an_event() -> None:
    """With names of the greatest length, sealed as the agent seals it."""
    names = tuple(f"S{n:031d}:USD" for n in range(1500))
    check_sizes(with_names(1500, 32), 1500)
    draft = Draft("agent", "alpha", "r", AT, 1, RunStarted("momentum", AT, "2022-11-23", names), run="r")
    assert len(seal(draft, desk="desk", instance="1-00000000", n=1, prev="f" * 64)) < limit_of(draft.data)


def test_limits_are_those_of_the_protocol() -> None:
    assert limit_of(MarketObserved("run", (), {}, {}, {})) == 512 * 1024
    assert limit_of(AccountReconciled("a", {}, {}, ())) == 64 * 1024
    assert limit_of(RunStarted("hold", AT, "2022-11-23", ())) == 64 * 1024


def test_more_sessions_than_the_first_event_can_name_are_refused() -> None:
    many = tuple(f"2022-11-{n % 28 + 1:02d}" for n in range(50_000))
    with pytest.raises(UsageError, match="50000 sessions and 1 books do not fit"):
        check_sizes(plan_of(sessions=many), 1)
