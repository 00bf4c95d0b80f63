"""Operator commands: to the desk that runs, else appended by ourselves under its lock."""

import json
import secrets

import msgspec

from services.desk.commands import SUBJECT, Cancel, CommandRefused, Done, carry_out, read_command
from services.desk.console import show, show_json
from services.desk.desk_keys import DeskKeys
from services.desk.embedded import running_desk, with_log, with_running
from services.desk.errors import DeskError, UsageError
from services.desk.layout import Layout
from services.desk.stack import DESK_NAME
from services.desk.steps import AUTHOR
from services.desk.tally import DeskState, apply
from shared.bus.jetstream import Connection
from shared.bus.keyring import Signer
from shared.bus.logs import configure_logs
from shared.bus.participant import Participant, instance_name
from shared.protocol.envelope import canonical

ANSWER_S = 30.0


def cancel(layout: Layout, order: str, reason: str, request: str | None, *, as_json: bool) -> None:
    """Append one `CancelOrdered` and say where it stands; raises `DeskError`."""
    configure_logs("desk", "warning")
    try:
        payload = canonical(Cancel("cancel", order, reason, request or f"cli-{secrets.token_hex(8)}"))
        command = read_command(payload)
        done = _ask(layout, payload) if running_desk(layout) is not None else with_log(layout, _Appending(command))
    except CommandRefused as error:
        raise UsageError(str(error)) from error
    if as_json:
        show_json(msgspec.to_builtins(done))
    else:
        show(f"{done.event} stands at sequence {done.seq}")


def _ask(layout: Layout, payload: bytes) -> Done:
    """Let the running desk do it."""

    async def work(connection: Connection, _keys: DeskKeys) -> bytes:
        return await connection.rpc.request(SUBJECT, payload, ANSWER_S)

    answer = json.loads(with_running(layout, work))
    if "error" in answer:
        raise CommandRefused(answer["error"]["code"], answer["error"]["message"])
    try:
        return msgspec.convert(answer, Done)
    except msgspec.ValidationError as error:
        raise DeskError(f"the desk's answer cannot be read: {error}") from error


class _Appending:
    """Append one command's event as the desk, which does not run."""

    def __init__(self, command: Cancel) -> None:
        self._command = command

    async def __call__(self, connection: Connection, keys: DeskKeys) -> Done:
        """Fold the whole log, then append."""
        participant = Participant(
            connection.log,
            connection.rpc,
            author=AUTHOR,
            instance=instance_name(),
            desk=DESK_NAME,
            state=DeskState(),
            apply=apply,
            keyring=keys.identity().keyring(),
            signer=Signer(keys.signing()),
        )
        try:
            await participant.start()
            return await carry_out(participant, self._command)
        finally:
            await participant.close()
