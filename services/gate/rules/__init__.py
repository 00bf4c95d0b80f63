"""Every rule of the gate, one pure function each: it looks at an order and the simulated book and says why not, or None.

What each rule blocks, its boundary and its units stand in `registry`.
"""

from collections.abc import Callable
from typing import Final

from services.gate.batch import Batch
from services.gate.candidate import Candidate
from services.gate.rules import account, approval, evidence, form, identity, limits
from shared.protocol.events import Reason

RULES_VERSION: Final = "2"
"""Names this rule code in every verdict; it changes with every change of a judgement."""

RuleCheck = Callable[[Candidate, Batch], Reason | None]


IDENTITY: Final[tuple[RuleCheck, ...]] = (identity.side, identity.instrument, identity.exchange)
FORM: Final[tuple[RuleCheck, ...]] = (form.finite, form.quantity, form.whole_shares, form.limit_price)
EVIDENCE: Final[tuple[RuleCheck, ...]] = (
    evidence.quote,
    evidence.quote_age,
    evidence.quote_kind,
    evidence.fx,
    evidence.commission,
    evidence.currency,
    evidence.session,
)
LIMITS: Final[tuple[RuleCheck, ...]] = (
    limits.price_collar,
    limits.monthly_orders,
    limits.daily_orders,
    limits.commission_share,
    limits.holding,
    limits.cash,
    limits.cash_reserve,
    limits.position,
    limits.order_notional,
    limits.gross_exposure,
)
ACCOUNT: Final[tuple[RuleCheck, ...]] = (account.duplicate, account.self_trade)

FIRST: Final = (*IDENTITY, *FORM)
LAST: Final = (*LIMITS, *ACCOUNT, approval.denied)
