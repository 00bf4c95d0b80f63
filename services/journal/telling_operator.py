"""What operators do with books, money, policies and the account, in words. Pure. Foreign text is not made safe here."""

from services.journal.words import counted, listed, quoted
from shared.protocol import events

Told = list[str]


def operator_words(data: events.Data) -> Told | None:
    """The sentence of an operator's event and its details; None for any other."""
    match data:
        case events.BookOpened():
            return [f"the book is opened for the source {data.source}, in {data.currency}"]
        case events.CashDeposited():
            return [f"{data.amount} are put into the book, which is no profit: {quoted(data.reason)}"]
        case events.CashWithdrawn():
            return [f"{data.amount} are taken out of the book, which is no loss: {quoted(data.reason)}"]
        case events.BookClosed():
            return [f"the book is closed for good and the {data.amount} that were left leave it: {quoted(data.reason)}"]
        case events.SourcePaused():
            return [f"the book's source is not asked any more: {quoted(data.reason)}"]
        case events.SourceResumed():
            return [f"the book's source is asked again: {quoted(data.reason)}"]
        case events.PolicyAdopted():
            return _policy(data)
        case events.AccountBaselined():
            return _baseline(data)
        case events.AdjustmentBooked():
            return _adjustment(data)
    return None


def _policy(data: events.PolicyAdopted) -> Told:
    count = counted(len(data.policy.universe), "instrument")
    stated = f"it states {listed(data.stated)}" if data.stated else "it states no limit"
    return [f"policy {data.policy_hash} is in force from here on, with {count}: {quoted(data.reason)}", stated]


def _baseline(data: events.AccountBaselined) -> Told:
    shares = [f"{quantity} {key}" for key, quantity in data.positions.items()]
    cash = [f"cash {amount} {currency}" for currency, amount in data.cash.items()]
    return [f"of account {data.account} this belongs to no book: {quoted(data.reason)}", *shares, *cash]


def _adjustment(data: events.AdjustmentBooked) -> Told:
    of = f" of {data.symbol}" if data.symbol else ""
    shares = f", {data.quantity} shares" if data.quantity is not None else ""
    sentence = f"an operator books a {data.kind}{of}, {data.amount} {data.currency}{shares}: {quoted(data.reason)}"
    return [sentence, *([_part(row) for row in data.shares] or ["it belongs to no book"])]


def _part(row: events.Share) -> str:
    """One book's part."""
    return f"{row.book}: cash {row.cash}" + (f", {row.quantity} shares" if row.quantity is not None else "")
