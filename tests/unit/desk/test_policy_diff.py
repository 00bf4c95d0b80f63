"""Two policies key by key, and what a book held when."""

from typing import Any

from msgspec.structs import replace

from services.desk.held import MAX_DAYS, Held
from services.desk.policy_diff import Change, changes
from services.gate.policy import LoadedPolicy
from shared.protocol.events import PolicyAdopted
from shared.protocol.market import Instrument
from shared.protocol.money import Exact
from tests.support.scribe import POLICY

IN_FORCE = PolicyAdopted(POLICY, ("month_timezone",), "p", "start")


def against(
    stated: tuple[str, ...] = ("month_timezone",), limits: dict[str, Any] | None = None, **parts: Any
) -> tuple[Change, ...]:
    policy = replace(POLICY, limits=replace(POLICY.limits, **(limits or {})), **parts)
    return changes(IN_FORCE, LoadedPolicy(policy, stated, "q", ()))


def test_the_same_policy_has_no_differences() -> None:
    assert against() == ()


def test_a_changed_limit_is_shown_old_and_new_and_a_default_is_marked() -> None:
    assert against(("max_position_pct", "month_timezone"), {"max_position_pct": Exact(20)}) == (
        Change("limits.max_position_pct", "25 (default)", "20"),
    )


def test_a_default_that_is_stated_now_is_a_difference_as_the_hash_covers_it() -> None:
    assert against(("max_position_pct", "month_timezone")) == (Change("limits.max_position_pct", "25 (default)", "25"),)


def test_switches_and_lists_are_shown_as_a_file_has_them() -> None:
    found = against(("allow_fractional", "min_cash_pct", "month_timezone"), {"allow_fractional": True, "min_cash_pct": Exact(5)})
    assert [(row.old, row.new) for row in found] == [("false (default)", "true"), ("off (default)", "5")]


def test_instruments_and_fees_that_come_go_or_change_are_shown_each() -> None:
    universe = (Instrument("AAA", "ASX", "USD"), Instrument("CCC", "SMART", "USD"))
    assert against(universe=universe, commission=()) == (
        Change("universe.AAA:USD", "on SMART", "on ASX"),
        Change("universe.BBB:USD", "on SMART", "none"),
        Change("universe.CCC:USD", "none", "on SMART"),
        Change("commission.USD", "0.005 a share, at least 1, at most 1 %", "none"),
    )


def test_what_was_held_before_a_day_is_what_the_last_day_before_it_ended_with() -> None:
    held = Held().at("eq", "AAA:USD", "2022-10-03", Exact(5)).at("eq", "AAA:USD", "2022-10-03", Exact(7))
    held = held.at("eq", "AAA:USD", "2022-10-05", Exact(0))
    found = [str(held.before("eq", "AAA:USD", f"2022-10-0{day}")) for day in (3, 4, 5, 6)]
    assert found == ["0", "7", "7", "0"]
    assert held.before("mo", "AAA:USD", "2022-10-06") == 0


def test_the_days_remembered_are_bounded() -> None:
    held = Held()
    for day in range(MAX_DAYS + 50):
        held = held.at("eq", "AAA:USD", f"{day:010}", Exact(day))
    assert len(held.books["eq"]["AAA:USD"]) == MAX_DAYS
