"""From executions and commissions, in either order, to what is booked; and the end of an order once all of it is. Pure."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from services.executor.ibkr.life import (
    MAX_EARLY,
    MAX_EXECUTIONS,
    Alarm,
    Ask,
    Book,
    BookFee,
    Change,
    Close,
    CommissionSeen,
    Effect,
    ExecutionSeen,
    Fill,
    Life,
    Patience,
    Phase,
)
from shared.protocol.money import ZERO

OVER = (Phase.SETTLED, Phase.ABANDONED, Phase.CANCELLED, Phase.REJECTED)


def split_id(execution: str) -> tuple[str, int]:
    """Base and revision of an execution id: a correction changes only what stands behind the last dot."""
    base, _, revision = execution.rpartition(".")
    return (base, int(revision)) if base and revision.isascii() and revision.isdigit() and len(revision) <= 9 else (execution, 0)


def executed(life: Life, seen: ExecutionSeen, now: datetime) -> Change:
    """Take an execution in: once per id, a higher revision in the place of a lower one."""
    base, revision = split_id(seen.id)
    known = life.fills.get(base)
    if known is not None and revision <= known.revision:
        return Change(life)
    if seen.quantity is None or seen.price is None or (known is None and len(life.fills) >= MAX_EXECUTIONS):
        return Change(
            replace(life, asked=True),
            (Alarm("unusable", f"execution {seen.id} has no usable numbers"), Ask("unusable execution")),
        )
    early = dict(life.early)
    fee = early.pop(seen.id, None)
    fill = Fill(seen.id, revision, seen.quantity, seen.price, now, fee, booked=known.booked if known else "")
    taken = replace(life, fills={**life.fills, base: fill}, early=early)
    late = _is_late(life, taken)
    if late:
        taken = replace(taken, fills={**taken.fills, base: replace(fill, late=True)})
    return _placed(taken, _alarms(life, taken, known, fill, late=late))


def _placed(life: Life, alarms: tuple[Effect, ...]) -> Change:
    """The phase after an execution; an execution before any acknowledgement is one."""
    if life.phase in {Phase.SENT, Phase.ACKED, Phase.INTENT, Phase.HELD} and life.claim is None:
        life = replace(life, phase=Phase.PARTIAL)
    if life.phase is Phase.FILLED and life.filled < life.quantity:
        life = replace(life, phase=Phase.PARTIAL)
    if life.phase is Phase.UNKNOWN and life.filled < life.quantity and not life.asked:
        return Change(replace(life, asked=True), (*alarms, Ask("an execution came while the order is unknown")))
    return Change(life, alarms)


def _is_late(before: Life, after: Life) -> bool:
    """Whether an execution comes after the order's end, beyond what its last status announced."""
    ended = before.phase in OVER or before.claim in {Phase.CANCELLED, Phase.REJECTED}
    return ended and after.filled > before.reported and after.filled > before.filled


def _alarms(before: Life, after: Life, known: Fill | None, fill: Fill, *, late: bool) -> tuple[Effect, ...]:
    """What a person must hear of an execution."""
    found: list[Effect] = []
    if late:
        found.append(Alarm("late_fill", f"{fill.quantity} at {fill.price} ({fill.id}) came after the end of {after.reference}"))
    if known is not None and known.booked:
        found.append(Alarm("corrected", f"{known.id} was booked and is corrected by {fill.id}"))
    if after.filled > after.quantity and after.filled > before.filled:
        found.append(Alarm("overfilled", f"{after.reference}: {after.filled} of {after.quantity} are filled"))
    return tuple(found)


def paid(life: Life, seen: CommissionSeen) -> Change:
    """Take a commission in; one that comes before its execution is kept for it. Without a usable amount it is still to come."""
    base, revision = split_id(seen.execution)
    fill = life.fills.get(base)
    if seen.fee is None:
        return Change(life, (Alarm("unusable", f"the commission of {seen.execution} has no usable amount"),))
    if fill is None or revision > fill.revision:
        early = {**life.early, seen.execution: seen.fee}
        return Change(replace(life, early=early) if len(early) <= MAX_EARLY else life)
    if revision < fill.revision or fill.fee is not None:
        return Change(life)
    return Change(replace(life, fills={**life.fills, base: replace(fill, fee=seen.fee)}))


def conclude(life: Life, now: datetime, patience: Patience) -> Change:
    """Book what can be booked, believe a whole order, and close what has ended and is booked."""
    if life.filled >= life.quantity and not life.phase.is_closed:
        life = replace(life, phase=Phase.FILLED, claim=Phase.FILLED)
    effects: list[Effect] = []
    fills = dict(life.fills)
    for base, fill in life.fills.items():
        fills[base], said = _booked(fill, now, patience)
        effects += said
    life = replace(life, fills=fills)
    end = _end(life, now, patience.settling)
    if end is None:
        return Change(life, tuple(effects))
    return Change(replace(life, phase=Phase.SETTLED), (*effects, Close(end, life.filled, life.words)))


def _booked(fill: Fill, now: datetime, patience: Patience) -> tuple[Fill, list[Effect]]:
    """Book one execution when its commission is known or no longer waited for; ask for it before that."""
    if fill.booked == fill.id:
        if not fill.fee_due or fill.fee is None:
            return fill, []
        return replace(fill, fee_due=False), [BookFee(fill.id, fill.fee)]
    waited = now - fill.seen
    if fill.fee is None and waited < patience.fee:
        if fill.asked or waited < patience.commission:
            return fill, []
        return replace(fill, asked=True), [Ask(f"the commission of {fill.id} has not come")]
    effects: list[Effect] = [Book(fill.id, fill.quantity, fill.price, fill.fee, fill.booked or None, fill.late)]
    if fill.fee is None:
        effects.append(Alarm("fee_pending", f"{fill.id} is booked without its commission, which has not come"))
    return replace(fill, booked=fill.id, fee_due=fill.fee is None), effects


def _end(life: Life, now: datetime, settling: timedelta) -> str | None:
    """How the order ended, None while it has not or not everything is booked."""
    if life.phase.is_closed or any(fill.booked != fill.id for fill in life.fills.values()):
        return None
    if life.phase is Phase.FILLED:
        return "filled"
    settled = life.claimed is not None and now >= life.claimed + settling
    if life.phase is Phase.CANCELLED and settled and life.filled >= max(life.reported, ZERO):
        return "cancelled"
    return None
