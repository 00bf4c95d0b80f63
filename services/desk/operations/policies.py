"""Adopting a policy: the only way in which one comes into force after the start."""

from typing import Annotated

import msgspec

from services.desk.operations.base import CommandRefused, Operation, Tools, about_request
from services.desk.tally import DeskState
from services.gate.policy import PolicyError, policy_hash
from services.gate.policy_check import check_policy
from shared.protocol.envelope import Draft, canonical
from shared.protocol.events import MAX_LARGE_EVENT_BYTES, EventData, PolicyAdopted
from shared.protocol.ids import DESK_BOOK
from shared.protocol.policy import Policy

ROOM_FOR_ENVELOPE = 4096
MAX_STATED = 100


class AdoptPolicy(Operation, frozen=True, tag="adopt_policy"):
    """Put a policy in force, whole; `stated` names the limits that its file states, which the hash covers."""

    policy: Annotated[Policy, msgspec.Meta(description="a whole policy, as `propdesk policy adopt` reads it from its file")]
    stated: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_STATED, description="the limits that the file states")]

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`PolicyAdopted`; refused if it is in force already, too large or in another currency."""
        data, now = self._data(), state.ledger.policy
        try:
            check_policy(self.policy, self.stated, now.policy.universe if now else ())
        except PolicyError as error:
            raise CommandRefused("bad_policy", str(error)) from error
        if now is not None and now.policy_hash == data.policy_hash and now.policy == data.policy:
            raise CommandRefused("in_force", f"this policy is in force already, since sequence {state.ledger.policy_seq}")
        if now is not None and now.policy.base_currency != self.policy.base_currency:
            told = f"base_currency is {self.policy.base_currency}, the books' is {now.policy.base_currency}"
            raise CommandRefused("other_currency", f"{told}: it cannot change")
        if len(canonical(data)) + len(self.reason) > MAX_LARGE_EVENT_BYTES - ROOM_FOR_ENVELOPE:
            raise CommandRefused("too_large", f"the policy has {len(canonical(data))} bytes, more than an event can hold")
        return about_request(state, DESK_BOOK, self.request, data)

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same policy and reason."""
        return data == self._data()

    def told(self) -> str:
        """Its hash."""
        return f"the policy {self._data().policy_hash[:12]} is in force"

    def _data(self) -> PolicyAdopted:
        return PolicyAdopted(self.policy, self.stated, policy_hash(self.policy, self.stated), self.reason)
