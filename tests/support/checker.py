"""An auditor that trusts nothing of the desk: it reads the log's JSON with the standard library and re-derives every claim.

It imports nothing of `services` or `shared`, keeps its own books and compares them with what the broker says it holds.
"""

import hashlib
import json
from collections import defaultdict
from decimal import Decimal, getcontext
from typing import Any

from tests.support.checker_protection import HUNDRED, ZERO, Book, Protection, reference_price

getcontext().prec = 80


class Auditor(Protection):
    """Reads payloads in log order and collects every breach as one line of text."""

    def __init__(self) -> None:
        super().__init__()
        self.breaches: list[str] = []
        self.books: dict[str, Book] = defaultdict(Book)
        self.policy: dict[str, Any] = {}
        self.observed: dict[str, dict[str, Any]] = {}
        self.proposed: dict[str, list[dict[str, Any]]] = {}
        self.judged: set[str] = set()
        self.approved: dict[str, dict[str, Any]] = {}
        self.seen_orders: set[str] = set()
        self.executions: set[str] = set()
        self.approvals = self.blocks = self.fills = 0
        self.tips: dict[str, tuple[int, str]] = {}

    def read(self, subject: str, payload: bytes) -> None:
        """Take the next stored message."""
        event = json.loads(payload)
        self._links(subject, event, payload)
        handler = getattr(self, f"_{event['type'].lower()}", None)
        if handler is not None:
            try:
                handler(event, event["data"])
            except (KeyError, IndexError, StopIteration, TypeError, ValueError, ArithmeticError) as error:
                self.say(event, f"cannot be followed: {type(error).__name__} {error}")

    def say(self, event: dict[str, Any], text: str) -> None:
        self.breaches.append(f"{event['id']}: {text}")

    def _links(self, subject: str, event: dict[str, Any], payload: bytes) -> None:
        _, author, book, kind = subject.split(".")
        if (author, book, kind) != (event["by"]["service"], event["book"], event["type"]):
            self.say(event, f"does not belong to subject {subject}")
        prefix = f"agent.{book}" if author == "agent" else author
        n, sha = self.tips.get(prefix, (0, None))
        if (event["n"], event["prev"]) != (n + 1, sha):
            self.say(event, f"breaks the chain of {prefix}: n {event['n']} after {n}")
        self.tips[prefix] = (event["n"], hashlib.sha256(payload).hexdigest())

    def _policyadopted(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.policy = data["policy"]

    def _cashdeposited(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        book, amount = self.books[event["book"]], Decimal(data["amount"])
        book.cash, book.deposited = book.cash + amount, book.deposited + amount

    def _cashwithdrawn(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        book, amount = self.books[event["book"]], Decimal(data["amount"])
        book.cash, book.deposited = book.cash - amount, book.deposited - amount
        free = book.cash - sum((self._reserved(order) for order in book.open.values()), ZERO)
        if free < 0:
            self.say(event, f"takes {amount} out, which leaves {free} free")

    def _adjustmentbooked(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        """What an operator accepted: cash and shares of the books that have a part in it."""
        for share in data.get("shares", ()):
            book = self.books[share["book"]]
            book.cash += Decimal(share["cash"])
            if share.get("quantity") is not None:
                key = f"{data['symbol']}:{data['currency']}"
                book.held[key] += Decimal(share["quantity"])
                if book.held[key] < 0:
                    self.say(event, f"leaves {book.held[key]} of {key}")

    def _bookclosed(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self._cashwithdrawn(event, data)
        book = self.books[event["book"]]
        if book.cash or book.open or any(book.held.values()):
            self.say(event, f"closes a book with {book.cash}, {len(book.open)} open orders and {dict(book.held)}")

    def _marketobserved(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.observed[event["id"]] = {**data, "at": event["at"]}
        self.begins(event, data.get("purpose"))

    def _proposalmade(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.proposed[event["run"]] = data["orders"]

    def _verdict(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.judged.add(event["run"])
        if data.get("kind") == "liquidation":
            return self.exits(event, data)
        if data.get("kind") == "approval":
            self.proposed[event["run"]] = [self.waiting.pop(self.given.pop(0))]
        if event["run"] not in self.proposed:
            return self.say(event, "judges what nobody proposed")
        orders = self.proposed[event["run"]]
        if sorted(row["index"] for row in data["decisions"]) != list(range(1, len(orders) + 1)):
            self.say(event, "does not decide every proposed order once")
        evidence = next((self.observed[name] for name in data["evidence"] if name in self.observed), None)
        if evidence is None:
            return self.say(event, "names no observation that it rests on")
        for row in data["decisions"]:
            if row["needs_approval"]:
                self.waiting[f"{event['run']}-{row['index']}"] = orders[row["index"] - 1]
            if not row["approved"]:
                self.blocks += 1
                if not row["reasons"] and not data["block"] and not row["needs_approval"]:
                    self.say(event, f"blocks order {row['index']} without a reason")
                continue
            self.approvals += 1
            if not 1 <= row["index"] <= len(orders):
                self.say(event, f"approves order {row['index']}, of {len(orders)} proposed")
                continue
            self._judge(event, row, orders[row["index"] - 1], evidence)
        return None

    def _runended(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        if event["run"] in self.caused:
            self.say(event, "ends a run that the desk caused, which ends when it is settled")
        if event["run"] in self.proposed and event["run"] not in self.judged:
            self.say(event, "ends a run whose proposal has no verdict")

    def _judge(self, event: dict[str, Any], row: dict[str, Any], proposed: dict[str, Any], evidence: dict[str, Any]) -> None:
        """Hold one approved order against the policy, by arithmetic of our own."""
        limits, book = self.policy["limits"], self.books[event["book"]]
        key, buy = f"{row['symbol']}:{row['currency']}", row["side"] == "BUY"
        quantity, limit = Decimal(row["quantity"]), Decimal(row["limit"])
        if (quantity, limit) != (Decimal(proposed["quantity"]), Decimal(proposed["limit"])):
            self.say(event, f"approves {quantity} at {limit}, proposed were {proposed['quantity']} at {proposed['limit']}")
        if quantity <= 0 or quantity % 1 or limit <= 0:
            self.say(event, f"approves quantity {quantity} at {limit}")
        if buy and key not in {f"{i['symbol']}:{i['currency']}" for i in self.policy["universe"]}:
            self.say(event, f"buys {key}, which is not in the universe")
        reference = reference_price(
            next(q for q in evidence["quotes"] if q["symbol"] == row["symbol"] and q["currency"] == row["currency"])
        )
        if abs(limit - reference) * HUNDRED > Decimal(limits["max_price_deviation_pct"]) * reference:
            self.say(event, f"limit {limit} is outside the collar around {reference}")
        if not self.is_open(key, evidence):
            self.say(event, "approves while the exchange is closed")
        self.allows(event, buy, key)
        fx = Decimal(evidence["fx"].get(row["currency"], "1"))
        if buy:
            fee = self._fee(row["currency"], quantity, limit) * fx
            self._judge_buy(event, book, key, quantity, reference * fx, quantity * limit * fx, fee, evidence)
        elif quantity > book.held[key] - sum((o["left"] for o in book.open.values() if o["key"] == key and not o["buy"]), ZERO):
            self.say(event, f"sells {quantity} of {key}, more than held")
        month = self.opened(event, row, key, buy, quantity, limit, fx)
        if buy and book.used[month] > limits["max_trades_per_month"]:
            self.say(event, f"is order {book.used[month]} of {month}")

    def _judge_buy(
        self,
        event: dict[str, Any],
        book: Book,
        key: str,
        quantity: Decimal,
        price: Decimal,
        notional: Decimal,
        fee: Decimal,
        evidence: dict[str, Any],
    ) -> None:
        free = book.cash - sum((self._reserved(order) for order in book.open.values()), ZERO)
        # SELLs of the batch are judged first and credit the simulated book; the executor withholds what they do not fund
        free += sum(
            (o["left"] * o["limit"] * o["fx"] - self._fee(o["currency"], o["left"], o["limit"]) for o in self._sells(book)), ZERO
        )
        if notional + fee > free:
            self.say(event, f"buys for {notional + fee} with {free} free")
        prices = {f"{q['symbol']}:{q['currency']}": reference_price(q) for q in evidence["quotes"]}
        value = book.cash + sum((shares * prices[name] for name, shares in book.held.items() if shares), ZERO)
        coming = sum((o["left"] for o in book.open.values() if o["key"] == key and o["buy"]), ZERO)
        cap = Decimal(self.policy["limits"]["max_position_pct"])
        if (book.held[key] + coming + quantity) * price * HUNDRED > cap * (value - fee):
            self.say(event, f"takes {key} over {cap} % of {value}")

    def _sells(self, book: Book) -> list[dict[str, Any]]:
        return [order for order in book.open.values() if not order["buy"]]

    def _reserved(self, order: dict[str, Any]) -> Decimal:
        if not order["buy"] or not order["left"]:
            return ZERO
        fee = self._fee(order["currency"], order["left"], order["limit"])
        return Decimal((order["left"] * order["limit"] + fee) * order["fx"])

    def _fee(self, currency: str, quantity: Decimal, limit: Decimal) -> Decimal:
        row = next(row for row in self.policy["commission"] if row["currency"] == currency)
        fee = max(quantity * Decimal(row["per_share"]), Decimal(row["minimum"]))
        return min(fee, quantity * limit * Decimal(row["maximum_pct"]) / HUNDRED)

    def _orderintended(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        order = self.approved.get(data["order"])
        if order is None:
            return self.say(event, "is sent without an approving verdict")
        if data["order"] in self.seen_orders:
            self.say(event, "is sent twice")
        self.seen_orders.add(data["order"])
        if data["order"] in self.stopped:
            self.say(event, "is sent although a halt came after its approval")
        sent = (f"{data['symbol']}:{data['currency']}", data["side"] == "BUY", Decimal(data["quantity"]), Decimal(data["limit"]))
        if sent != (order["key"], order["buy"], order["quantity"], order["limit"]):
            self.say(event, "differs from what was approved")
        return None

    def _orderwithheld(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        order = self.books[event["book"]].open.pop(data["order"], None)
        if order is None:
            return self.say(event, "withholds an order that is not open")
        if data["order"] in self.placed:
            self.say(event, "withholds an order that was sent")
        self.books[event["book"]].used[order["month"]] -= 1
        return None

    def _orderclosed(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        order = self.books[event["book"]].open.pop(data["order"], None)
        if order is None:
            return self.say(event, "closes an order that is not open")
        if order["quantity"] - order["left"] != Decimal(data["filled"]):
            self.say(event, f"says {data['filled']} filled, the fills say {order['quantity'] - order['left']}")
        return None

    def _fillsettled(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.fills += 1
        if data["order"] not in self.seen_orders:
            self.say(event, "fills an order that was never sent")
        book = self.books[event["book"]]
        order = book.open.get(data["order"])
        if order is None:
            return self.say(event, "fills an order that is not open")
        if data["execution"] in self.executions:
            self.say(event, "books an execution twice")
        self.executions.add(data["execution"])
        quantity, price, buy = Decimal(data["quantity"]), Decimal(data["price"]), data["side"] == "BUY"
        if price <= 0 or (price > order["limit"] if buy else price < order["limit"]):
            self.say(event, f"fills at {price}, beyond the limit {order['limit']}")
        order["left"] -= quantity
        if order["left"] < 0:
            self.say(event, "fills more than was ordered")
        if (f"{data['symbol']}:{data['currency']}", buy) != (order["key"], order["buy"]):
            self.say(event, "fills another instrument or side than was approved")
        book.held[order["key"]] += quantity if buy else -quantity
        if book.held[order["key"]] < 0:
            self.say(event, f"leaves {book.held[order['key']]} of {order['key']}")
        gross, fee = quantity * price * Decimal(data["fx"]), Decimal(data["fee"]["amount"])
        if Decimal(data["cash_effect"]) != (-gross if buy else gross) - fee:
            self.say(event, f"has cash effect {data['cash_effect']}")
        book.cash += Decimal(data["cash_effect"])
        if book.cash < 0:
            self.say(event, f"leaves cash at {book.cash}")
        return None

    def against_broker(self, positions: dict[str, Decimal], cash: Decimal, opening_cash: Decimal) -> None:
        """Compare the sum of all books with the broker's own account."""
        total: dict[str, Decimal] = defaultdict(Decimal)
        for book in self.books.values():
            for key, shares in book.held.items():
                total[key] += shares
        if {k: v for k, v in total.items() if v} != {k: v for k, v in positions.items() if v}:
            self.breaches.append(f"books hold {dict(total)}, the broker {positions}")
        moved = sum((book.cash - book.deposited for book in self.books.values()), ZERO)
        if opening_cash + moved != cash:
            self.breaches.append(f"books moved the account's cash by {moved}, the broker has {cash} after {opening_cash}")
