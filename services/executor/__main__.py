"""`python -m services.executor`: read the settings, build the parts, run."""

import sys

from services.executor.body import Body
from services.executor.decisions import AUTHOR
from services.executor.settings import Settings
from shared.bus.service import main

if __name__ == "__main__":
    body = Body()
    try:
        main(AUTHOR, Settings, body.run)
    except SystemExit as end:
        sys.exit(end.code or body.exit_code)
