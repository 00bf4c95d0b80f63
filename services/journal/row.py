"""What every row of the read models is."""

from typing import ClassVar

import msgspec

from shared.protocol.money import Exact

Value = str | int | bool | Exact | None
"""What one column holds."""


class Row(msgspec.Struct, frozen=True):
    """Base of all rows; `table` is the name of their table."""

    table: ClassVar[str]
