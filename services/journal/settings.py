"""The journal's configuration."""

from pathlib import Path
from typing import Final

from shared.bus.settings import ServiceSettings

DATABASE_FILE: Final = "journal.db"


class JournalSettings(ServiceSettings):
    """Nothing beyond what all services have."""

    @property
    def database(self) -> Path:
        """The file of the read models."""
        return self.data_dir / DATABASE_FILE
