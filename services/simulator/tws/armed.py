"""Faults that wait for the next order or cancel, and are used up by it."""

from typing import Final

from services.simulator.tws.faults import FaultError, OfCancelling, OfPlacing

MAX_ARMED: Final = 1_000


class Armed:
    """Faults that wait for their order or cancel."""

    def __init__(self) -> None:
        """Nothing is armed."""
        self._waiting: list[tuple[OfPlacing | OfCancelling, int]] = []

    def arm(self, fault: OfPlacing | OfCancelling) -> None:
        """Keep a fault until it was used `count` times; raises `FaultError` for too many."""
        if len(self._waiting) >= MAX_ARMED:
            raise FaultError(f"{MAX_ARMED} faults are armed already")
        self._waiting.append((fault, fault.count))

    def placing(self, ref: str) -> list[OfPlacing]:
        """Use up what is armed for a new order, one of each kind, in the order in which it was armed."""
        taken: list[OfPlacing] = []
        for fault in self._fitting(ref):
            if isinstance(fault, OfPlacing) and type(fault) not in [type(other) for other in taken]:
                taken.append(fault)
                self._use(fault)
        return taken

    def cancelling(self, ref: str) -> OfCancelling | None:
        """Use up what is armed for a cancel."""
        for fault in self._fitting(ref):
            if isinstance(fault, OfCancelling):
                self._use(fault)
                return fault
        return None

    def _fitting(self, ref: str) -> list[OfPlacing | OfCancelling]:
        """All that is armed for a reference."""
        return [fault for fault, _ in self._waiting if fault.ref in {"", ref}]

    def _use(self, fault: OfPlacing | OfCancelling) -> None:
        """Count one use; at the last one the fault is gone."""
        at = next(index for index, (other, _) in enumerate(self._waiting) if other is fault)
        left = self._waiting[at][1] - 1
        self._waiting[at : at + 1] = [(fault, left)] if left else []
