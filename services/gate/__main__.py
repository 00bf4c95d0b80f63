"""`python -m services.gate`."""

from services.gate.service import serve
from services.gate.settings import GateSettings
from shared.bus.service import main

if __name__ == "__main__":
    main("gate", GateSettings, serve)
