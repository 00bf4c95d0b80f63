"""Whatever operators ask in whatever order, a command is an event that folds or a refusal in words, and the books stay sound."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from services.desk.commands import already_done
from services.desk.operations.base import CommandRefused, Tools
from services.desk.requests import read_command
from services.desk.tally import DeskState, apply
from shared.ledger.packing import pack, unpack
from shared.ledger.reservations import free_cash
from shared.protocol.events import AccountReconciled, BookOpened, OrderClosed, RunEnded
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, RunStatus
from tests.support.scribe import SLOT, Scribe

BOOKS = st.sampled_from(["eq", "mo", "new", "ghost"])
SCOPES = st.sampled_from([None, "eq", "mo", "new"])
AMOUNTS = st.sampled_from(["1", "2500.5", "4999", "9999.99", "10000", "20000", "0.000001", "0"])
KINDS = st.sampled_from(["dividend", "interest", "fee", "position"])


def command(name: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"command": st.just(name), **fields})


COMMANDS = st.one_of(
    command("deposit", book=BOOKS, amount=AMOUNTS, open=st.booleans(), source=st.sampled_from([None, "hold"])),
    command("withdraw", book=BOOKS, amount=AMOUNTS),
    command("close_book", book=BOOKS),
    command("halt", book=SCOPES, reduce_only=st.booleans(), liquidate=st.booleans()),
    command("reset", book=SCOPES, keep_holdings=st.booleans()),
    command("flatten", book=SCOPES, symbol=st.sampled_from([None, "AAA", "BBB:USD"])),
    command("pause", book=BOOKS),
    command("resume", book=BOOKS),
    command("cancel", order=st.sampled_from(["20221003T1030-eq-1-2", "x"])),
    command("baseline"),
    command(
        "adjust",
        kind=KINDS,
        amount=st.sampled_from([None, "5", "-5", "0"]),
        symbol=st.sampled_from([None, "AAA", "BBB"]),
        quantity=st.sampled_from([None, "3", "-4", "-200"]),
        book=SCOPES,
        pro_rata=st.booleans(),
    ),
)


def desk(value: str | None) -> Scribe:
    """Two books: `eq` holds 50 AAA and has a BUY working, `mo` has cash alone; the account has five shares beyond."""
    scribe = Scribe().open_desk("eq", "mo")
    scribe.clock("slot", SLOT, due=("eq", "mo"))
    run = scribe.start_run("eq")
    first, _ = scribe.approve(run, ("AAA", Side.BUY, "50", "50"), ("BBB", Side.BUY, "10", "50"))
    scribe.fill(first, "1.1", "AAA", Side.BUY, "50", "50")
    scribe.write("executor", OrderClosed(first, OrderEnd.FILLED, Exact(50), ""), first, book="eq", run=run)
    if value is not None:
        scribe.value("eq", value)
    other = scribe.start_run("mo")
    scribe.write("agent", RunEnded(RunStatus.HELD, ""), other, book="mo", run=other)
    scribe.write("executor", AccountReconciled("DU1", {"USD": Exact(500)}, {"AAA:USD": Exact(55)}, ()), "looked")
    return scribe


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([None, "9000", "2600"]), st.lists(COMMANDS, max_size=8))
def test_every_sequence_of_commands_folds_and_keeps_the_books_sound(value: str | None, asked: list[dict[str, Any]]) -> None:
    scribe, state = desk(value), DeskState()
    for event in scribe.events:
        state = apply(state, event)
    for number, fields in enumerate(asked):
        body = {**fields, "reason": "r", "request": f"q{number}"}
        state = carried_out(scribe, state, json.dumps(body).encode())
        for book in state.ledger.books.values():
            assert free_cash(book) >= 0 or fields["command"] == "adjust" or book.cash < 0
            assert book.units >= 0
            assert book.peak >= 0
            assert all(holding.quantity > 0 for holding in book.holdings.values())
            assert not (book.closed and (book.cash or book.holdings or book.orders))
        assert pack(unpack(pack(state.ledger))) == pack(state.ledger)


def carried_out(scribe: Scribe, state: DeskState, payload: bytes) -> DeskState:
    """As the desk does it: events until the one about the request, or a refusal in words; asked again it is the same event."""
    for _ in range(3):
        try:
            asked = read_command(payload)
            if already_done(state, asked) is not None:
                return state
            draft = asked.draft(state, Tools())
        except CommandRefused as error:
            return said(error, state)
        event = scribe.write("desk", draft.data, draft.about, book=draft.book)
        state = apply(state, event)
        assert isinstance(draft.data, BookOpened) or already_done(state, asked) is not None
    raise AssertionError("a command took more than two events")


def said(refused: CommandRefused, state: DeskState) -> DeskState:
    """A refusal is one line and changes nothing."""
    assert len(str(refused).strip().splitlines()) == 1
    return state
