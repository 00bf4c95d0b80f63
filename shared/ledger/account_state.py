"""Two parts of the folded state: the broker's account, and orders that wait for an operator."""

import msgspec

from shared.ledger.parts import Halt
from shared.protocol.envelope import Event
from shared.protocol.events import Difference
from shared.protocol.money import ZERO, Exact


class Account(msgspec.Struct, frozen=True):
    """The broker's account. `cash` per currency is what the log explains: as last reconciled plus fills and adjustments since,
    None until first reconciled; `baseline` are shares that belong to no book. The rest is not hashed.

    `found` and `positions` are the broker's own cash and shares as it last said, plus fills since; None: unknown.
    `unattributed` is cash that nothing explains, by currency since it was last adopted. `failed`: they differed when last looked
    at (time `looked_at`), in `differences`. `pending` are orders that explained a difference; they are looked at again at their
    end. `last_positions` are the broker's shares by its last complete answer, plus fills since, whatever was unknown after it.
    """

    cash: dict[str, Exact] | None = None
    baseline: dict[str, Exact] = {}
    failed: bool = False
    name: str | None = None
    found: dict[str, Exact] | None = None
    positions: dict[str, Exact] | None = None
    last_positions: dict[str, Exact] | None = None
    unattributed: dict[str, Exact] = {}
    differences: tuple[Difference, ...] = ()
    pending: tuple[str, ...] = ()
    looked_at: str | None = None
    adopted: bool = False

    @property
    def borrowed(self) -> dict[str, Exact]:
        """Currencies of which the account owes money, and how much."""
        return {currency: Exact(-amount) for currency, amount in (self.found or {}).items() if amount < ZERO}


class Approval(msgspec.Struct, frozen=True):
    """An order over `approval_above` that waits for an operator; `order` is the id that it would have had.

    `at` and `policy_hash` are those of the verdict that said so, `given` is the `ApprovalGiven` that awaits its verdict, `caused`
    the run in which it is judged afresh. `exchange` and `untrusted` stand as in its proposal. `halt` came after it was given, and
    stops it for good.
    """

    order: str
    book: str
    run: str
    symbol: str
    currency: str
    side: str
    quantity: Exact
    limit: Exact
    at: str
    policy_hash: str
    given: Event | None = None
    exchange: str | None = None
    untrusted: bool = False
    caused: str | None = None
    halt: Halt | None = None
