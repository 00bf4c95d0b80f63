"""The hash of the folded state: SHA-256 of the canonical JSON of account, books and halts.

A field at its initial value is left out, so that fields added later leave old hashes alone. Sequences, times (but month and day
keys), instances and the broker's own ids are never in it.
"""

from shared.ledger.reservations import reserved_cash, reserved_shares
from shared.ledger.state import Book, Counter, Halt, Mark, State
from shared.protocol.envelope import canonical, sha256_hex
from shared.protocol.market import Side


def state_hash(state: State | Mark) -> str:
    """The hash of the whole desk, now or as it was at a mark."""
    return sha256_hex(canonical(hashed_state(state)))


def book_hash(book: Book) -> str:
    """The hash of one book alone."""
    return sha256_hex(canonical(hashed_book(book)))


def hashed_state(state: State | Mark) -> dict[str, object]:
    """What `state_hash` covers."""
    account = _kept({"cash": state.account.cash, "baseline": state.account.baseline})
    halts = [{"scope": scope, **_halt(halt)} for scope, halt in sorted(state.halts.items())]
    return {"account": account, "books": {name: hashed_book(book) for name, book in state.books.items()}, "halts": halts}


def hashed_book(book: Book) -> dict[str, object]:
    """What `book_hash` covers."""
    selling = sorted({order.key for order in book.orders.values() if order.side is Side.SELL})
    reservations: dict[str, object] = {
        "cash": reserved_cash(book) or None,
        "shares": {key: shares for key in selling if (shares := reserved_shares(book, key))},
    }
    return _kept(
        {
            "cash": book.cash or None,
            "holdings": {key: {"quantity": row.quantity, "cost": row.cost} for key, row in book.holdings.items()},
            "reservations": _kept(reservations),
            "peak": book.peak or None,
            "units": book.units or None,
            "previous": book.previous,
            "month": _counter(book.month),
            "day": _counter(book.day),
            "halt": _halt(book.halt) if book.halt else None,
            "orders": {name: {"state": order.state.value, "filled": order.filled} for name, order in book.orders.items()},
            "runs": dict.fromkeys(book.runs, "open"),
            "ended": _kept({"counts": book.counts, "digest": book.digest}),
            "closed": book.closed or None,
            "blind": book.blind or None,
            "caused": book.caused,
            "paused": book.paused,
        }
    )


def _kept(fields: dict[str, object]) -> dict[str, object]:
    """The fields that are not at their initial value."""
    return {name: value for name, value in fields.items() if value not in (None, "", {}, [], ())}


def _counter(counter: Counter) -> dict[str, object] | None:
    """A counter, unless nothing was ever counted."""
    return {"period": counter.period, "used": counter.used} if counter.period else None


def _halt(halt: Halt) -> dict[str, object]:
    """A halt in force."""
    return {"kind": halt.kind, "reason": halt.reason}
