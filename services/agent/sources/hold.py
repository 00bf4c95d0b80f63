"""`hold`: a source that never proposes."""

import msgspec

from services.agent.sources.port import Proposal, RunView, held


class Hold(msgspec.Struct, frozen=True):
    """Keeps whatever the book holds."""

    def history_needed(self, view: RunView) -> int:
        """None."""
        return 0

    def propose(self, view: RunView) -> Proposal:
        """Never an order."""
        return held(f"holds on {view.session} as always")
