"""What a scenario does to the desk's day: watch steps, books that are not due, dead agents."""

from msgspec.structs import replace

from services.desk.steps import Plan, _steps_of, next_draft, watch_fault
from services.simulator.scenario import AgentsScript, DryScript, IdleScript, Scenario, WatchScript
from shared.ledger.state import State, Step
from shared.protocol.events import ClockAdvanced
from tests.unit.desk.histories import SESSIONS, History, plan_of


def planned(*books: str, **parts) -> Plan:
    return replace(plan_of(*books), scenario=Scenario(**parts))


def days(plan: Plan) -> list[tuple[str, str, tuple[str, ...]]]:
    """Every step behind the open if nothing is ever owed: time, step, due books."""
    history = History(plan).opens()
    state = history.state.ledger
    found: list[tuple[str, str, tuple[str, ...]]] = []
    while (draft := next_draft(_at_rest(state), plan)) is not None:
        assert isinstance(draft.data, ClockAdvanced)
        clock = draft.data
        found.append((clock.to, clock.step, clock.due))
        event = history.events[0]
        state = replace(state, step=Step(replace(clock, due=()), event))
    return found


def _at_rest(state: State) -> State:
    """The state with nothing owed in a close step."""
    step = state.step
    assert step is not None
    done = replace(step, reconciled=step.event, observed=step.event, valued=tuple(state.books), hashed=("gate", "executor"))
    return replace(state, step=done, marks=())


def test_watch_steps_stand_between_open_slot_and_close_in_order_of_time() -> None:
    plan = planned(watch=(WatchScript(session=SESSIONS[0], times=("14:00", "10:00")),))
    assert days(plan)[:4] == [
        ("2022-11-23T15:00:00.000000Z", "watch", ()),
        ("2022-11-23T15:30:00.000000Z", "slot", ("alpha",)),
        ("2022-11-23T19:00:00.000000Z", "watch", ()),
        ("2022-11-23T21:00:00.000000Z", "close", ()),
    ]


def test_without_a_scenario_a_day_has_slot_and_close() -> None:
    assert [step for _, step, _ in days(plan_of())] == ["slot", "close", "slot", "close"]


def test_idle_books_are_not_due() -> None:
    plan = planned("beta", "alpha", idle=(IdleScript(session=SESSIONS[1], books=("beta",)),))
    assert [due for _, step, due in days(plan) if step == "slot"] == [("beta", "alpha"), ("alpha",)]


def test_no_book_is_due_once_the_agents_are_dead() -> None:
    plan = planned("beta", "alpha", agents=AgentsScript(SESSIONS[1]))
    assert [due for _, step, due in days(plan) if step == "slot"] == [("beta", "alpha"), ()]


def test_a_watch_outside_the_session_or_at_the_slot_is_a_fault() -> None:
    def fault(time: str, session: str) -> str | None:
        return watch_fault(Scenario(watch=(WatchScript(times=(time,)),)), session)

    assert fault("10:00", SESSIONS[0]) is None
    assert "not inside" in (fault("09:30", SESSIONS[0]) or "")
    assert "not inside" in (fault("13:30", SESSIONS[1]) or "")  # it closes at 13:00
    assert "the slot" in (fault("10:30", SESSIONS[0]) or "")


def test_books_whose_runs_are_dry_are_due_and_named_as_dry() -> None:
    plan = planned("beta", "alpha", "gamma", dry=(DryScript(session=SESSIONS[1], books=("alpha",)),))
    idle = replace(plan, scenario=Scenario(dry=(DryScript(),), idle=(IdleScript(session=SESSIONS[0], books=("beta",)),)))
    always = replace(plan, args=replace(plan.args, dry=True), scenario=Scenario())
    assert [slots(it) for it in (plan, idle, always)] == [
        [(), ("alpha",)],
        [("alpha", "gamma"), ("beta", "alpha", "gamma")],
        [("beta", "alpha", "gamma")] * 2,
    ]


def slots(plan: Plan) -> list[tuple[str, ...]]:
    """The dry books of each session's slot."""
    return [clock.dry for session in SESSIONS for clock in _steps_of(session, plan) if clock.step == "slot"]
