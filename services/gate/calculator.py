"""`propdesk gate check`: the gate as a calculator, without any service."""

from pathlib import Path
from typing import cast

from services.gate.calculator_state import read_state
from services.gate.inputs import InputError, read_json
from services.gate.orders import judgement_document, read_orders
from services.gate.policy import PolicyError, load_policy
from services.gate.verdict import judge
from shared.protocol.money import NumberError

__all__ = ["InputError", "check_files", "render"]


def check_files(policy: Path, state: Path, orders: Path) -> dict[str, object]:
    """Judge the orders of a file on the state of another under a policy; section 8 of the gate's specification.

    Raises `InputError` naming file, key and what is accepted. The result holds text, whole numbers, booleans and None only.
    """
    found = read_state(read_json(state), str(state))
    try:
        loaded = load_policy(policy, book_currency=found.base_currency)
    except PolicyError as error:
        raise InputError(str(error)) from error
    proposed = read_orders(read_json(orders), str(orders))
    try:
        judged = judge(loaded.policy, found.book(loaded.policy), found.market(loaded.policy), proposed)
        return judgement_document(judged, loaded.policy_hash)
    except NumberError as error:
        raise InputError(f"{state}: amounts too large to be judged: {error}") from error


def render(result: dict[str, object]) -> str:
    """The result of `check_files` for people: a line per order with its reasons below it."""
    lines = [f"value {result['value'] or 'unknown'}, drawdown {result['drawdown_pct'] or 'unknown'} %"]
    block = cast("dict[str, object] | None", result["block"])
    if block is not None:
        lines.append(f"block: {block['kind']}")
        lines += _reasons(block)
    for decision in cast("list[dict[str, object]]", result["decisions"]):
        lines.append(_line(decision))
        lines += _reasons(decision)
    after = cast("dict[str, object]", result["after"])
    used = cast("dict[str, int]", after["orders_used"])
    lines.append(f"after: cash {after['cash']}, orders used {used['month']} this month, {used['day']} today")
    return "\n".join(lines)


def _line(decision: dict[str, object]) -> str:
    """One decision."""
    verdict = "approved" if decision["approved"] else "needs approval" if decision["needs_approval"] else "blocked"
    quantity, limit = decision["quantity"] or "?", decision["limit"] or "?"
    order = f"{decision['side']} {quantity} {decision['symbol']} at {limit} {decision['currency']}"
    largest = "" if decision["largest"] is None else f", largest that would pass: {decision['largest']}"
    return f"{decision['index']}. {order}: {verdict}{largest}"


def _reasons(owner: dict[str, object]) -> list[str]:
    """The reasons of a decision or a block."""
    reasons = cast("list[dict[str, object]]", owner["reasons"])
    return [f"     {why['rule']}: {why['message']}" for why in reasons]
