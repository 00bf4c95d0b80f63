"""Rotating a key: a new one is made and adopted."""

from typing import Annotated

import msgspec

from services.desk.operations.base import CommandRefused, Operation, Tools
from services.desk.rotation import RotationRefused, name_of
from services.desk.tally import DeskState
from shared.bus.keys import KeyFileError
from shared.protocol.envelope import Draft
from shared.protocol.events import EventData, KeysAdopted

Who = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[a-z][a-z0-9_]{0,11}$",
        description="an author or a book: a lower-case letter, then at most 11 letters, digits or _",
    ),
]


class Rotate(Operation, frozen=True, tag="rotate"):
    """Put a new key of an author, or of a book's source, in force."""

    who: Who

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`KeysAdopted`, signed with the root key."""
        if tools.rotation is None:
            raise CommandRefused("no_keys", "this desk has no keys")
        try:
            return tools.rotation.draft(state.ledger, self.who, self.reason, self.request)
        except RotationRefused as error:
            raise CommandRefused(error.code, str(error)) from error
        except (OSError, KeyFileError) as error:
            raise CommandRefused("no_file", f"the new key cannot be written: {error}") from error

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same key and reason."""
        return isinstance(data, KeysAdopted) and (data.rotated, data.reason) == (name_of(self.who), self.reason)

    def told(self) -> str:
        """Whose key."""
        return f"a new key of {self.who} is in force; what the old key signs after it does not count"
