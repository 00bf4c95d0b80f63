"""Every code that says why: rules of the gate, ends of orders and runs. One place, from which the docs are generated."""

from enum import StrEnum
from typing import Final


class Rule(StrEnum):
    """A rule that can block an order, or a state of the desk that blocks buying."""

    SIDE = "side"
    INSTRUMENT = "instrument"
    EXCHANGE = "exchange"
    FINITE = "finite"
    QUANTITY = "quantity"
    WHOLE_SHARES = "whole_shares"
    LIMIT_PRICE = "limit_price"
    QUOTE = "quote"
    QUOTE_AGE = "quote_age"
    QUOTE_KIND = "quote_kind"
    FX = "fx"
    COMMISSION = "commission"
    CURRENCY = "currency"
    SESSION = "session"
    PRICE_COLLAR = "price_collar"
    MONTHLY_ORDERS = "monthly_orders"
    DAILY_ORDERS = "daily_orders"
    COMMISSION_SHARE = "commission_share"
    HOLDING = "holding"
    CASH = "cash"
    CASH_RESERVE = "cash_reserve"
    POSITION = "position"
    ORDER_NOTIONAL = "order_notional"
    GROSS_EXPOSURE = "gross_exposure"
    DUPLICATE = "duplicate"
    SELF_TRADE = "self_trade"
    HALT = "halt"
    DRAWDOWN = "drawdown"
    DAILY_LOSS = "daily_loss"
    VALUATION = "valuation"
    RECONCILIATION = "reconciliation"
    APPROVAL = "approval"
    UNTRUSTED = "untrusted"


class RunStatus(StrEnum):
    """How a run ended."""

    OK = "ok"
    HELD = "held"
    DRY_RUN = "dry_run"
    MARKET_CLOSED = "market_closed"
    ORDER_LIMIT_REACHED = "order_limit_reached"
    LLM_BUDGET_EXHAUSTED = "llm_budget_exhausted"
    HALTED = "halted"
    KILL_SWITCH = "kill_switch"
    SOURCE_FAILED = "source_failed"
    ERROR = "error"
    BROKER_NOT_READY = "broker_not_ready"
    MARKET_DATA_UNAVAILABLE = "market_data_unavailable"
    RECONCILE_FAILED = "reconcile_failed"
    UNSETTLED = "unsettled"
    ABORTED = "aborted"


EXIT_OF: Final[dict[RunStatus, int]] = {
    **dict.fromkeys(RunStatus, 0),
    **dict.fromkeys((RunStatus.SOURCE_FAILED, RunStatus.ERROR, RunStatus.UNSETTLED), 1),
    **dict.fromkeys((RunStatus.BROKER_NOT_READY, RunStatus.MARKET_DATA_UNAVAILABLE), 2),
    RunStatus.RECONCILE_FAILED: 3,
}
"""The exit code of a command whose run ended like this; an aborted run is followed by another one and has none of its own."""


class SourceFault(StrEnum):
    """What went wrong inside a proposal source."""

    TOO_MANY_ORDERS = "too_many_orders"
    CRASHED = "crashed"
    INVALID = "invalid"


class Withheld(StrEnum):
    """Why an approved order was not sent."""

    HALT = "halt"
    STALE = "stale"
    UNQUALIFIED = "unqualified"
    CLOSED = "closed"
    OUT_OF_COLLAR = "out_of_collar"
    NO_TICK = "no_tick"
    UNFUNDED = "unfunded"
    CANCELLED = "cancelled"
    SELF_TRADE = "self_trade"


class OrderEnd(StrEnum):
    """How an order that was sent ended."""

    FILLED = "filled"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"
    UNSENT = "unsent"


class StopReason(StrEnum):
    """How a source ended its thinking."""

    SUBMITTED = "submitted"
    HELD = "held"
