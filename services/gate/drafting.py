"""What the gate's decisions share: its drafts, and what of the folded state they are about. Pure."""

from datetime import datetime, timedelta
from typing import Final

from services.gate.fit import fitted
from services.gate.rules import RULES_VERSION
from services.gate.verdict import Judgement
from shared.ledger.dry import mode_of
from shared.ledger.owed import Owed
from shared.ledger.state import Run, State
from shared.protocol.envelope import Draft, Event
from shared.protocol.events import EventData, PolicyAdopted, Verdict
from shared.protocol.instants import parse, to_text

AUTHOR: Final = "gate"
VALID_FOR: Final = timedelta(seconds=300)
"""How long a verdict may be acted upon at most."""
BEFORE_CLOSE: Final = timedelta(minutes=1)
"""How long before the close it ends in any case."""


def draft_of(state: State, item: Owed, data: EventData, cause: Event) -> Draft:
    """The event about `item` at desk time."""
    if state.now is None:
        raise LookupError("desk time is not known before the first ClockAdvanced")
    mode = mode_of(state, item.run)
    return Draft(AUTHOR, item.book, item.about, state.now, state.seq, data, item.run, cause.id, item.k, mode)


def run_of(state: State, item: Owed) -> Run:
    """The run of an item."""
    return state.runs[item.run or item.about]


def policy_of(state: State) -> PolicyAdopted:
    """The policy in force; raises `LookupError` before there is one, when the gate owes nothing."""
    if state.policy is None:
        raise LookupError("no policy is adopted yet")
    return state.policy


def verdict_of(state: State, kind: str, judged: Judgement, evidence: Event) -> Verdict:
    """A judgement as an event, with as much of its reasons as fits."""
    data = Verdict(
        kind=kind,
        decisions=judged.decisions,
        block=judged.block.reasons if judged.block else (),
        value=judged.value,
        drawdown_pct=judged.drawdown_pct,
        policy_hash=policy_of(state).policy_hash,
        rules=RULES_VERSION,
        evidence=(evidence.id,),
        valid_until=valid_until(parse(evidence.at), judged.first_close()),
    )
    return fitted(data)


def valid_until(now: datetime, closes_at: datetime | None) -> str:
    """300 s from now or a minute before the first close of an exchange that an approved order goes to, whichever is earlier."""
    latest = now + VALID_FOR
    return to_text(latest if closes_at is None else min(latest, closes_at - BEFORE_CLOSE))
