"""The arithmetic of the exchange model."""

from decimal import Context, Inexact, InvalidOperation
from typing import Final

EXACT: Final = Context(prec=100, traps=[Inexact, InvalidOperation])
"""Sums and products are exact: a digit that would be lost is a bug that raises, not a rounding."""
