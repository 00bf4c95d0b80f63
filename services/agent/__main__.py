"""`python -m services.agent`."""

from services.agent.service import serve
from services.agent.settings import AgentSettings
from shared.bus.service import main

if __name__ == "__main__":
    main("agent", AgentSettings, serve)
