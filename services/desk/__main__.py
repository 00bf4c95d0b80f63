"""`python -m services.desk` is the `propdesk` command."""

from services.desk.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
