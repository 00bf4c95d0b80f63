"""How a command ends when it does not end well: one line for a person and an exit code."""

import signal


class DeskError(Exception):
    """Something stopped the command; `str()` is the line to show."""

    exit_code = 1


class UsageError(DeskError):
    """Wrong usage or configuration; nothing was written."""

    exit_code = 2


class DirectoryInUse(UsageError):
    """Another process works in the data directory."""


class RunFailed(DeskError):
    """The run stopped abnormally; `details` are further lines, such as the end of a service's log."""

    def __init__(self, message: str, details: tuple[str, ...] = ()) -> None:
        """Keep the further lines beside the message."""
        super().__init__(message)
        self.details = details


class RunNotReady(RunFailed):
    """Runs could not be made because account data, rates or prices were missing."""

    exit_code = 2


class RunNotReconciled(RunFailed):
    """Runs for which ledger and broker differed."""

    exit_code = 3


class LogLost(RunFailed):
    """The log is not what was seen of it; nothing was appended or sent since, and starting again does not help."""


class NotReconciled(DeskError):
    """The ledger and the broker differ, or the log was lost."""

    exit_code = 3


class Interrupted(DeskError):
    """A signal ended the command; a run can be resumed. The exit code is 128 + the signal's number."""

    def __init__(self, number: int) -> None:
        """Remember which signal it was."""
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class OutputFailed(DeskError):
    """The result is there but cannot be written where it should go."""
