"""`python -m services.journal`."""

from services.journal.service import Journal
from services.journal.settings import JournalSettings
from shared.bus.service import main

if __name__ == "__main__":
    journal = Journal()
    main("journal", JournalSettings, journal.serve, apply=journal.apply, prepare=journal.prepare, on_drop=journal.dropped)
