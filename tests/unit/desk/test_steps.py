"""Which event the desk owes next."""

from services.desk.steps import is_finished, next_draft, sessions_done
from shared.protocol.events import (
    BookOpened,
    CashDeposited,
    ClockAdvanced,
    Difference,
    PolicyAdopted,
    ReconciliationFailed,
    RunEnded,
    StateHashed,
)
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, RunStatus
from tests.unit.desk.histories import History, approves, plan_of


def ends(history: History, run: str, book: str) -> None:
    history.add("agent", book, run, RunEnded(RunStatus.HELD, ""), run)


def closes(history: History) -> None:
    """Everything that a close step without orders owes."""
    from shared.protocol.events import MarketObserved

    history.add("executor", "_desk", f"_desk-{history.session}", MarketObserved("watch", (), {}, {}, {}))
    for book in history.plan.args.books:
        history.valued(book.book, "10000", f"{book.book}-{history.session}")
    hashes(history, "gate", "executor")


def hashes(history: History, *authors: str) -> None:
    for author in authors:
        history.add(author, "_desk", history.session, StateHashed(history.session, "0" * 64))


def test_the_first_event_is_the_clock_at_half_past_nine_with_the_arguments() -> None:
    history = History(plan_of())
    event = history.step()
    assert event.id == "desk:ClockAdvanced:_desk-20221123T143000Z"
    assert event.at == "2022-11-23T14:30:00.000000Z"
    assert event.data == ClockAdvanced("2022-11-23T14:30:00.000000Z", "open", "2022-11-23", (), history.plan.args)


def test_then_come_the_policy_and_each_book_with_its_deposit_in_configuration_order() -> None:
    history = History(plan_of("beta", "alpha")).opens()
    assert [event.id for event in history.events[1:]] == [
        "desk:PolicyAdopted:_desk",
        "desk:BookOpened:beta",
        "desk:CashDeposited:beta",
        "desk:BookOpened:alpha",
        "desk:CashDeposited:alpha",
    ]
    assert history.events[1].data == history.plan.policy
    assert history.events[2].data == BookOpened("hold", "USD")
    assert history.events[3].data == CashDeposited(Exact(10_000), "start of the run")
    assert {event.at for event in history.events} == {"2022-11-23T14:30:00.000000Z"}


def test_opening_events_that_stand_in_the_log_are_not_written_again() -> None:
    history = History(plan_of("alpha", "beta"))
    for _ in range(3):
        history.step()
    draft = next_draft(history.state.ledger, history.plan)
    assert draft is not None
    assert draft.id == "desk:CashDeposited:alpha"


def test_a_quiet_opening_is_followed_by_the_slot_at_half_past_ten_with_every_book_due() -> None:
    history = History(plan_of("beta", "alpha")).opens()
    event = history.step()
    assert event.data == ClockAdvanced("2022-11-23T15:30:00.000000Z", "slot", "2022-11-23", ("beta", "alpha"))
    assert event.envelope.cause == history.events[0].id
    assert event.envelope.as_of == event.seq - 1


def test_while_a_due_book_has_not_run_the_desk_owes_nothing() -> None:
    history = History(plan_of()).opens()
    history.step()
    assert next_draft(history.state.ledger, history.plan) is None
    history.started("alpha")
    assert next_draft(history.state.ledger, history.plan) is None


def test_a_slot_is_over_when_every_run_ended_or_rests_at_the_broker() -> None:
    history = History(plan_of("alpha", "beta")).opens()
    history.step()
    ends(history, history.started("alpha"), "alpha")
    assert next_draft(history.state.ledger, history.plan) is None
    run = history.started("beta")
    history.judged(run, "beta", approves(1, run))
    assert next_draft(history.state.ledger, history.plan) is None
    history.placed(run, "beta", 1)
    assert history.step().data == ClockAdvanced("2022-11-23T21:00:00.000000Z", "close", "2022-11-23")


def test_a_close_is_over_when_orders_prices_valuations_and_hashes_are_there() -> None:
    history = History(plan_of()).opens()
    history.step()
    run = history.started("alpha")
    history.judged(run, "alpha", approves(1, run))
    order = history.placed(run, "alpha", 1)
    history.step()
    assert next_draft(history.state.ledger, history.plan) is None
    history.ended(order, "alpha", OrderEnd.EXPIRED, 0)
    ends(history, run, "alpha")
    assert next_draft(history.state.ledger, history.plan) is None
    closes(history)
    assert history.step().data == ClockAdvanced("2022-11-25T15:30:00.000000Z", "slot", "2022-11-25", ("alpha",))


def test_a_short_session_closes_early_and_behind_the_last_close_the_run_is_finished() -> None:
    history = History(plan_of()).opens()
    for done in range(2):
        assert sessions_done(history.state.ledger, history.plan.args) == done
        history.step()
        ends(history, history.started("alpha"), "alpha")
        clock = history.step()
        assert not is_finished(history.state.ledger, history.plan.args)
        assert sessions_done(history.state.ledger, history.plan.args) == done
        closes(history)
        hashes(history, "journal")
    assert clock.at == "2022-11-25T18:00:00.000000Z"
    assert next_draft(history.state.ledger, history.plan) is None
    assert is_finished(history.state.ledger, history.plan.args)
    assert sessions_done(history.state.ledger, history.plan.args) == 2


def test_the_clock_does_not_wait_for_the_journals_hashes_but_the_end_of_the_run_does() -> None:
    history = History(plan_of()).opens()
    for session in plan_of().args.sessions:
        history.step()
        ends(history, history.started("alpha"), "alpha")
        history.step()
        closes(history)
        assert history.session == session
    for session in plan_of().args.sessions:
        assert next_draft(history.state.ledger, history.plan) is None
        assert not is_finished(history.state.ledger, history.plan.args)
        history.add("journal", "_desk", session, StateHashed(session, "0" * 64))
    assert is_finished(history.state.ledger, history.plan.args)


def test_after_a_lost_log_nothing_is_owed_and_the_run_is_not_finished() -> None:
    history = History(plan_of()).opens()
    lost = ReconciliationFailed(None, (Difference("desk time", "a", "b"),), final=True)
    history.add("executor", "_desk", "_desk-lost", lost)
    assert next_draft(history.state.ledger, history.plan) is None
    assert not is_finished(history.state.ledger, history.plan.args)


def test_the_same_log_gives_the_same_bytes() -> None:
    one, other = (History(plan_of("alpha", "beta")).opens() for _ in range(2))
    assert [event.payload for event in one.events] == [event.payload for event in other.events]
    assert isinstance(one.events[1].data, PolicyAdopted)
