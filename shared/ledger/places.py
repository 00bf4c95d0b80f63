"""Putting changed orders back into the state: the fold's tools."""

from msgspec.structs import replace

from shared.ledger import books
from shared.ledger.state import LedgerOrder, State, find_order


def with_order(state: State, order: LedgerOrder, counted: int = 0) -> State:
    """Put an order into its run and, while open, its book; `counted` is added to the book's counters."""
    run = state.runs[order.run]
    state = replace(state, runs={**state.runs, run.id: replace(run, orders={**run.orders, order.id: order})})
    return books.with_book(state, books.with_order(state.books[order.book], order, counted))


def change_order(folded: State, order_id: str, /, **changes: object) -> State:
    """Change fields of an open order; an order that ended or is unknown stays as it is."""
    order = find_order(folded, order_id)
    return folded if order is None or not order.state.is_open else with_order(folded, replace(order, **changes))
