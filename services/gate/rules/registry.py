"""The table of rules: what each blocks, its boundary and the units of its numbers."""

from enum import StrEnum
from typing import Final, NamedTuple

from services.gate.rules.bounds import BOUNDS
from shared.protocol.reasons import Rule


class Group(StrEnum):
    """Rules that are judged together."""

    BLOCK = "block"
    IDENTITY = "identity"
    FORM = "form"
    EVIDENCE = "evidence"
    LIMITS = "limits"
    ACCOUNT = "account"
    APPROVAL = "approval"


class RuleInfo(NamedTuple):
    """One row of the table of rules: when it blocks, where the boundary lies, and the units of a reason's numbers."""

    rule: Rule
    group: Group
    blocks_when: str
    boundary: str = ""
    limit: str = ""
    value: str = ""
    headroom: str = ""


_PCT: Final = "%"
_SHARES: Final = "shares"
_BASE: Final = "base currency"
_LOCAL: Final = "instrument currency"

REGISTRY: Final[tuple[RuleInfo, ...]] = (
    RuleInfo(Rule.HALT, Group.BLOCK, "a halt of the desk or the book is in force: full blocks all, reduce-only blocks BUYs"),
    RuleInfo(Rule.VALUATION, Group.BLOCK, "a holding has no price or no rate, so the value is unknown (BUYs)"),
    RuleInfo(Rule.DRAWDOWN, Group.BLOCK, "drawdown ≥ limit (BUYs)", "exactly the limit blocks", _PCT, _PCT, _BASE),
    RuleInfo(
        Rule.DAILY_LOSS, Group.BLOCK, "loss of the exchange day ≥ limit (BUYs)", "exactly the limit blocks", _PCT, _PCT, _BASE
    ),
    RuleInfo(Rule.RECONCILIATION, Group.BLOCK, "ledger and broker do not agree (BUYs)"),
    RuleInfo(Rule.SIDE, Group.IDENTITY, "not BUY or SELL"),
    RuleInfo(Rule.INSTRUMENT, Group.IDENTITY, "not in the universe; a SELL of a held share passes"),
    RuleInfo(Rule.EXCHANGE, Group.IDENTITY, "given and different from the universe's, in any case"),
    RuleInfo(Rule.FINITE, Group.FORM, "quantity or limit price is no finite number that an order can have"),
    RuleInfo(Rule.QUANTITY, Group.FORM, "not above 0", "0 is blocked", _SHARES, _SHARES),
    RuleInfo(Rule.WHOLE_SHARES, Group.FORM, "a fraction, and the policy allows none", "4.0 passes", _SHARES, _SHARES),
    RuleInfo(Rule.LIMIT_PRICE, Group.FORM, "missing or not above 0: there are no market orders", "0 is blocked", _LOCAL, _LOCAL),
    RuleInfo(Rule.QUOTE, Group.EVIDENCE, "no reference price"),
    RuleInfo(
        Rule.QUOTE_AGE,
        Group.EVIDENCE,
        "quote too old, or over 5 s from the future",
        "exactly the limit passes",
        "seconds",
        "seconds",
    ),
    RuleInfo(Rule.QUOTE_KIND, Group.EVIDENCE, "kind not admitted"),
    RuleInfo(Rule.FX, Group.EVIDENCE, "no rate, or not above 0"),
    RuleInfo(Rule.COMMISSION, Group.EVIDENCE, "unknown"),
    RuleInfo(
        Rule.CURRENCY, Group.EVIDENCE, "foreign_currency = deny and the BUY's currency is neither base nor held at the broker"
    ),
    RuleInfo(
        Rule.SESSION,
        Group.EVIDENCE,
        "the exchange is closed or closes in under 15 minutes",
        "exactly 15:00 passes",
        "seconds",
        "seconds",
    ),
    RuleInfo(
        Rule.PRICE_COLLAR,
        Group.LIMITS,
        "|limit − ref| ÷ ref × 100 > limit",
        "equal passes",
        _PCT,
        _PCT,
        f"{_LOCAL} to either side",
    ),
    RuleInfo(Rule.MONTHLY_ORDERS, Group.LIMITS, "used + 1 > limit", "the last one passes", "orders", "orders", "orders"),
    RuleInfo(
        Rule.DAILY_ORDERS,
        Group.LIMITS,
        "used + 1 > limit in the exchange day; also over all books (`[policy.account]`)",
        "the last one passes",
        "orders",
        "orders",
        "orders",
    ),
    RuleInfo(Rule.COMMISSION_SHARE, Group.LIMITS, "commission ÷ notional × 100 > limit", "equal passes", _PCT, _PCT, _LOCAL),
    RuleInfo(Rule.HOLDING, Group.LIMITS, "SELL of more than held and not reserved", "equal passes", _SHARES, _SHARES, _SHARES),
    RuleInfo(Rule.CASH, Group.LIMITS, "BUY: notional + commission > free cash", "equal passes", _BASE, _BASE, _SHARES),
    RuleInfo(Rule.CASH_RESERVE, Group.LIMITS, "BUY: free cash after it < limit % of value", "equal passes", _PCT, _PCT, _SHARES),
    RuleInfo(
        Rule.POSITION,
        Group.LIMITS,
        "BUY: (held + reserved + quantity) × ref × FX ÷ (value − commission) × 100 > limit; also over all books",
        "equal passes",
        _PCT,
        _PCT,
        _SHARES,
    ),
    RuleInfo(Rule.ORDER_NOTIONAL, Group.LIMITS, "quantity × max(limit, ref) × FX > limit", "equal passes", _BASE, _BASE, _SHARES),
    RuleInfo(
        Rule.GROSS_EXPOSURE,
        Group.LIMITS,
        "BUY: exposure with it ÷ value × 100 > limit; also over all books",
        "equal passes",
        _PCT,
        _PCT,
        _SHARES,
    ),
    RuleInfo(Rule.DUPLICATE, Group.ACCOUNT, "same instrument, side, quantity and limit as an order of this book at work"),
    RuleInfo(
        Rule.SELF_TRADE, Group.ACCOUNT, "BUY that would cross a SELL at work in any book", "equal prices cross", _LOCAL, _LOCAL
    ),
    RuleInfo(Rule.APPROVAL, Group.APPROVAL, "notional > approval_above: needs approval, not sent", "equal passes", _BASE, _BASE),
    RuleInfo(Rule.UNTRUSTED, Group.APPROVAL, "BUY of a proposal with the mark: needs approval or is blocked, as the policy says"),
)
"""Every rule, in the order judged: the source of `docs/rules.md`."""

_BY_SIZE: Final = (Rule.FINITE, Rule.QUANTITY, Rule.WHOLE_SHARES, Rule.COMMISSION_SHARE, Rule.DUPLICATE)

REGARDLESS_OF_QUANTITY: Final = frozenset(row.rule for row in REGISTRY if row.rule not in _BY_SIZE and row.rule not in BOUNDS)
"""Rules that fail at every quantity if they fail at one."""
