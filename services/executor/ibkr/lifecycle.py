"""The state machine of one order: `step(life, input, now) -> Change`. Pure; section 7 of the requirement.

Executions are the truth about quantity, statuses are hints, errors go through the table in `codes`. Whatever leaves a doubt leads
to `unknown`, and out of it lead only executions that make the order whole, and a sweep of the broker's lists.
"""

from datetime import datetime
from typing import Final, assert_never

from msgspec.structs import replace

from services.executor.ibkr.booking import conclude, executed, paid
from services.executor.ibkr.codes import Meaning, meaning
from services.executor.ibkr.life import (
    MAX_WORDS,
    Alarm,
    Ask,
    CancelSent,
    Change,
    Close,
    CommissionSeen,
    Doubted,
    ErrorSeen,
    ExecutionSeen,
    Input,
    Life,
    Patience,
    Phase,
    Placed,
    Sent,
    StatusSeen,
    Swept,
    TimePassed,
    Unsent,
)
from shared.protocol.money import ZERO, Exact

LIVE: Final = frozenset({"PreSubmitted", "Submitted"})
UNDERWAY: Final = frozenset({"PendingCancel", "PreCancelled"})
NO_EVIDENCE: Final = frozenset({"PendingSubmit", "ApiPending", "ValidationError", "ApiUpdate"})
ENDED: Final = frozenset({"Cancelled", "ApiCancelled"})
FILLED: Final = "Filled"
INACTIVE: Final = "Inactive"
SETTLING: Final = (Phase.FILLED, Phase.CANCELLED, Phase.REJECTED)
USUAL: Final = Patience()


def step(life: Life, item: Input, now: datetime, patience: Patience = USUAL) -> Change:
    """What an input makes of an order, and what follows; the same input again changes nothing."""
    change = _take(life, item, now, patience)
    end = conclude(change.life, now, patience)
    return Change(end.life, (*change.effects, *end.effects))


def _take(life: Life, item: Input, now: datetime, patience: Patience) -> Change:
    """What the input itself says, before anything is booked or closed."""
    match item:
        case Sent():
            return Change(replace(life, phase=Phase.SENT, since=now) if life.phase is Phase.INTENT else life)
        case Unsent():
            return _unsent(life, item.words)
        case StatusSeen():
            return _status(life, item, now)
        case ExecutionSeen():
            return executed(life, item, now)
        case CommissionSeen():
            return paid(life, item)
        case ErrorSeen():
            return _error(life, item, now)
        case CancelSent():
            return _cancel_sent(life, now)
        case Doubted():
            return Change(life) if _is_over(life) or life.phase is Phase.INTENT else doubt(life, item.reason)
        case Swept():
            return _swept(life, item, now, patience)
        case TimePassed():
            return _time(life, now, patience)
        case _:
            assert_never(item)


def doubt(life: Life, reason: str) -> Change:
    """Nothing is certain: ask the broker, once until it has answered."""
    asked = replace(life, phase=Phase.UNKNOWN, asked=True)
    return Change(asked, () if life.phase is Phase.UNKNOWN and life.asked else (Ask(reason),))


def _ask(life: Life, reason: str) -> Change:
    """Keep the phase and ask, once until there is an answer."""
    return Change(replace(life, asked=True), () if life.asked else (Ask(reason),))


def _is_over(life: Life) -> bool:
    """Whether a doubt says nothing new: the order is whole, or its end is in the log."""
    return life.phase.is_closed or life.phase is Phase.FILLED


def _unsent(life: Life, words: str) -> Change:
    """Only what was never sent can be abandoned without asking."""
    if life.phase is not Phase.INTENT:
        return Change(life)
    return Change(replace(life, phase=Phase.ABANDONED), (Close("unsent", ZERO, words[:MAX_WORDS]),))


def _cancel_sent(life: Life, now: datetime) -> Change:
    """A cancel is under way; an order that has ended stays as it is."""
    sent = replace(life, cancel_sent=True)
    if life.phase in {Phase.SENT, Phase.ACKED, Phase.PARTIAL, Phase.HELD}:
        sent = replace(sent, phase=Phase.CANCEL_REQUESTED, since=now)
    return Change(sent)


def _status(life: Life, seen: StatusSeen, now: datetime) -> Change:
    """A hint: it acknowledges, holds or claims an end, and never undoes one."""
    if seen.status in NO_EVIDENCE or seen.perm_id == 0:
        return Change(life)
    if life.perm_id not in {0, seen.perm_id}:
        return _two_ids(life, seen.perm_id)
    placed = () if life.perm_id else (Placed(seen.perm_id),)
    known = replace(life, perm_id=seen.perm_id, reported=Exact(max(life.reported, seen.filled or ZERO)))
    if life.phase is Phase.SENT:
        known = replace(known, phase=Phase.ACKED, since=now)
    change = _hinted(known, seen, now)
    return Change(change.life, (*placed, *change.effects))


def _hinted(life: Life, seen: StatusSeen, now: datetime) -> Change:
    """What a status of an acknowledged order says."""
    if life.phase.is_closed or life.phase is Phase.FILLED:
        return Change(life)
    if life.phase is Phase.UNKNOWN:
        return _ask(life, f"a status {seen.status} came while the order is unknown")
    if seen.status in LIVE:
        return _alive(life, seen.why_held)
    if seen.status in UNDERWAY:
        return Change(life)
    if seen.status == FILLED:
        return Change(_claim(life, Phase.FILLED, now, ""))
    if seen.status in ENDED:
        return Change(_claim(life, Phase.CANCELLED, now, life.words))
    if seen.status == INACTIVE:
        rejected = life.refused and not seen.why_held
        return Change(life if rejected or life.claim is not None else replace(life, phase=Phase.HELD))
    return _ask(life, f"status {seen.status[:MAX_WORDS]} is not known")


def _alive(life: Life, why_held: str) -> Change:
    """The broker works the order or holds it; after a rejection that is a contradiction, after a cancel an old message."""
    if life.claim is Phase.REJECTED:
        return doubt(replace(life, claim=None), "a rejected order has a working status")
    if life.claim is not None or life.phase is Phase.CANCEL_REQUESTED:
        return Change(life)
    return Change(replace(life, phase=Phase.HELD if why_held else _working(life)))


def _working(life: Life) -> Phase:
    """The phase of an order that works."""
    return Phase.PARTIAL if life.filled else Phase.ACKED


def _claim(life: Life, end: Phase, now: datetime, words: str) -> Life:
    """The broker says that the order has ended. Filled is believed once its executions add up."""
    if end is Phase.FILLED:
        return replace(life, claim=end, claimed=now, reported=life.quantity)
    if life.claim is Phase.FILLED:
        return life
    claimed = life.claimed if life.claim is end and life.claimed is not None else now
    return replace(life, claim=end, claimed=claimed, phase=end, words=words[:MAX_WORDS])


def _two_ids(life: Life, perm_id: int) -> Change:
    """One reference with two permanent ids: two orders at the broker."""
    change = doubt(life, "two permanent ids") if not _is_over(life) else Change(life)
    alarm = Alarm("two_orders", f"{life.reference} is known by the permanent ids {life.perm_id} and {perm_id}")
    return Change(change.life, (*change.effects, alarm))


def _error(life: Life, seen: ErrorSeen, now: datetime) -> Change:
    """An error about this order, by the one table."""
    if life.phase.is_closed or life.phase in {Phase.INTENT, Phase.FILLED}:
        return Change(life)
    said = meaning(seen.code)
    if said in {Meaning.LIVE, Meaning.NOTICE, Meaning.DELAYED, Meaning.SLOW_DOWN, Meaning.FARM_DOWN}:
        return Change(life)
    words = f"{seen.code}: {seen.words}"
    if life.phase is Phase.UNKNOWN:
        return _ask(replace(life, words=words[:MAX_WORDS]), f"an error came while the order is unknown: {words[:MAX_WORDS]}")
    if said is Meaning.REJECTED and _can_be_rejected(life):
        refused = replace(_claim(life, Phase.REJECTED, now, words), refused=True)
        return _ask(refused, "a rejection is certain when the order is not among the open ones")
    if said is Meaning.CANCELLED:
        return Change(_claim(life, Phase.CANCELLED, now, words))
    if said is Meaning.HELD:
        held = life.claim is None and life.phase is not Phase.CANCEL_REQUESTED
        return Change(replace(life, phase=Phase.HELD) if held else life)
    if life.claim is not None:
        return _ask(life, words[:MAX_WORDS])
    return doubt(replace(life, words=words[:MAX_WORDS]), words[:MAX_WORDS])


def _can_be_rejected(life: Life) -> bool:
    """Whether a rejection can mean this order: it is new, nothing of it was executed, no cancel of ours is under way."""
    return life.phase in {Phase.SENT, Phase.ACKED, Phase.HELD, Phase.REJECTED} and not life.filled and not life.reported


def _swept(life: Life, found: Swept, now: datetime, patience: Patience) -> Change:
    """What complete lists of the broker say; the only way out of doubt."""
    answered = replace(life, asked=False)
    if life.phase.is_closed or life.phase is Phase.INTENT:
        return Change(answered)
    if found.status is None:
        return _absent(answered, found.sweeps, patience)
    if life.perm_id not in {0, found.perm_id} and found.perm_id:
        return _two_ids(answered, found.perm_id)
    placed = (Placed(found.perm_id),) if found.perm_id and not life.perm_id else ()
    change = _present(replace(answered, perm_id=life.perm_id or found.perm_id), found, now)
    return Change(change.life, (*placed, *change.effects))


def _absent(life: Life, sweeps: int, patience: Patience) -> Change:
    """The broker's lists do not hold it: confirmed rejection, or after enough sweeps provably not placed."""
    if life.claim is Phase.REJECTED and not life.filled:
        closed = replace(life, phase=Phase.SETTLED)
        return Change(closed, (Close("rejected", ZERO, life.words),))
    placeless = not (life.filled or life.reported or life.perm_id)
    if life.phase is Phase.UNKNOWN and placeless and sweeps >= patience.sweeps:
        return Change(replace(life, phase=Phase.ABANDONED), (Close("unsent", ZERO, life.words),))
    if life.phase is Phase.UNKNOWN and not placeless:
        return Change(life, (Alarm("vanished", f"{life.reference} was at the broker and is in none of its lists"),))
    return Change(life)


def _present(life: Life, found: Swept, now: datetime) -> Change:
    """The broker's lists hold it: take their word for where it stands, and executions for how much was filled."""
    told = replace(life, reported=life.reported if found.filled is None else found.filled)
    if life.phase is Phase.FILLED:
        return Change(told)
    if found.status == FILLED:
        return Change(_claim(told, Phase.FILLED, now, life.words))
    if found.status in ENDED:
        return Change(_claim(told, Phase.CANCELLED, now, life.words))
    if found.status == INACTIVE and not found.why_held:
        return _absent(replace(told, claim=Phase.REJECTED), found.sweeps, USUAL)
    alarms: tuple[Alarm, ...] = ()
    if life.claim is Phase.REJECTED:
        alarms = (Alarm("rejected_lives", f"{life.reference} was rejected ({life.words}) and is open at the broker"),)
    working = Phase.HELD if found.why_held else Phase.CANCEL_REQUESTED if life.cancel_sent else _working(told)
    return Change(replace(told, phase=working, claim=None, claimed=None, since=now), alarms)


def _time(life: Life, now: datetime, patience: Patience) -> Change:
    """Deadlines: silence after sending or cancelling, executions that do not add up to a claimed end."""
    due = _deadline(life, patience)
    if due is None or now < due:
        return Change(life)
    if life.claim in SETTLING:
        return doubt(replace(life, claim=None if life.claim is not Phase.REJECTED else life.claim), "executions are missing")
    return doubt(life, f"no answer since {life.since}")


def _deadline(life: Life, patience: Patience) -> datetime | None:
    """When this order's silence becomes a doubt; None if it does not."""
    if life.claim in {Phase.FILLED, Phase.CANCELLED} and life.claimed is not None and not _is_over(life):
        return life.claimed + patience.settling if life.filled < life.reported else None
    if life.since is None or life.claim is not None:
        return None
    if life.phase is Phase.SENT:
        return life.since + patience.acknowledgement
    return life.since + patience.cancel if life.phase is Phase.CANCEL_REQUESTED else None


def next_deadline(life: Life, patience: Patience = USUAL) -> datetime | None:
    """The earliest time at which `TimePassed` changes something; None for never."""
    times = [due for due in (_deadline(life, patience), *_fee_times(life, patience)) if due is not None]
    whole = life.filled >= life.reported and all(fill.booked == fill.id for fill in life.fills.values())
    if life.phase is Phase.CANCELLED and life.claimed is not None and whole:
        times.append(life.claimed + patience.settling)
    return min(times, default=None)


def _fee_times(life: Life, patience: Patience) -> list[datetime]:
    """When missing commissions are asked for, and when they are booked as pending."""
    waiting = [fill for fill in life.fills.values() if fill.fee is None and fill.booked != fill.id]
    return [fill.seen + (patience.fee if fill.asked else patience.commission) for fill in waiting]
