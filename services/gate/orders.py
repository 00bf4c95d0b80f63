"""Proposed orders from a document, and decisions into one: what `check` and the calculator read and write."""

from typing import Final

from services.gate.inputs import Fields, InputError, NumberText
from services.gate.verdict import Judgement
from shared.protocol.events import Decision, Reason
from shared.protocol.market import ProposedOrder, split_key
from shared.protocol.money import Exact

MAX_ORDERS: Final = 10_000
MAX_SIDE_CHARS: Final = 32

_KEYS: Final = ("symbol", "currency", "side", "quantity", "limit", "reason", "exchange", "confidence")


def read_orders(document: object, where: str) -> tuple[ProposedOrder, ...]:
    """A list of orders; raises `InputError` for a wrong shape. What an order says is judged, not refused here."""
    if not isinstance(document, list):
        raise InputError(f"{where}: must be a list of orders")
    if len(document) > MAX_ORDERS:
        raise InputError(f"{where}: {len(document)} orders, at most {MAX_ORDERS}")
    return tuple(_order(row, f"{where}[{index}]") for index, row in enumerate(document))


def _order(value: object, where: str) -> ProposedOrder:
    """One order; an absent quantity or limit price is for the rules to judge."""
    fields = Fields(value, where, _KEYS)
    return ProposedOrder(
        symbol=fields.symbol("symbol"),
        currency=fields.symbol("currency"),
        side=fields.text("side", MAX_SIDE_CHARS),
        quantity=_number_text(fields, "quantity"),
        limit=_number_text(fields, "limit"),
        reason=fields.text("reason") if fields.has("reason") else "",
        exchange=fields.symbol("exchange") if fields.has("exchange") else None,
        confidence=_confidence(fields),
    )


def _number_text(fields: Fields, key: str) -> str | None:
    """A number's text as it stands; numbers of any spelling are judged by the rules of form."""
    if not fields.has(key):
        return None
    value = fields.raw(key)
    if not isinstance(value, str):
        raise fields.wrong(key, 'a number, as text like "12"')
    return str(value) if isinstance(value, NumberText) else fields.text(key)


def _confidence(fields: Fields) -> str | None:
    """A number from 0 to 1, if it is given."""
    if not fields.has("confidence"):
        return None
    value = fields.number("confidence", low=0)
    if value > 1:
        raise fields.wrong("confidence", "a number from 0 to 1")
    return str(value)


def judgement_document(judged: Judgement, policy_hash: str) -> dict[str, object]:
    """The result of a check: amounts and percentages as canonical decimal text, decisions in the order judged."""
    block, after = judged.block, judged.after()
    return {
        "policy_hash": policy_hash,
        "value": _text(judged.value),
        "drawdown_pct": _text(judged.drawdown_pct),
        "block": None if block is None else {"kind": block.kind, "reasons": [_reason(why) for why in block.reasons]},
        "decisions": [_decision(decision) for decision in judged.decisions],
        "after": {
            "cash": str(after.cash),
            "holdings": [_holding(key, shares) for key, shares in after.holdings.items()],
            "orders_used": {"month": after.used_month, "day": after.used_day},
        },
    }


def _holding(key: str, shares: Exact) -> dict[str, str]:
    symbol, currency = split_key(key)
    return {"symbol": symbol, "currency": currency, "quantity": str(shares)}


def _decision(decision: Decision) -> dict[str, object]:
    return {
        "index": decision.index,
        "symbol": decision.symbol,
        "currency": decision.currency,
        "side": decision.side,
        "quantity": _text(decision.quantity),
        "limit": _text(decision.limit),
        "approved": decision.approved,
        "notional": _text(decision.notional),
        "commission": _text(decision.commission),
        "reasons": [_reason(why) for why in decision.reasons],
        "largest": _text(decision.largest),
        "needs_approval": decision.needs_approval,
    }


def _reason(why: Reason) -> dict[str, object]:
    return {
        "rule": why.rule.value,
        "limit": _text(why.limit),
        "value": _text(why.value),
        "headroom": _text(why.headroom),
        "message": why.message,
    }


def _text(value: Exact | None) -> str | None:
    return None if value is None else str(value)
