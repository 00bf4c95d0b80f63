"""Operator commands: to the desk that runs, else appended by ourselves under its lock."""

import json
import secrets
from collections.abc import Callable

import msgspec

from services.desk.commands import SUBJECT, Done, carry_out
from services.desk.console import show, show_json
from services.desk.desk_keys import DeskKeys
from services.desk.embedded import running_desk, with_log, with_running
from services.desk.errors import DeskError, UsageError
from services.desk.layout import Layout
from services.desk.operations.base import CommandRefused, Operation
from services.desk.operations.keys import Rotate
from services.desk.patience import patiently
from services.desk.requests import read_command
from services.desk.rotation import Rotation
from services.desk.stack import DESK_NAME
from services.desk.steps import AUTHOR
from services.desk.tally import DeskState
from shared.bus.jetstream import Connection
from shared.bus.keyring import Signer
from shared.bus.logs import configure_logs
from shared.bus.participant import Participant, instance_name
from shared.bus.prefixes import OnDrop
from shared.protocol.envelope import Event, canonical

ANSWER_S = 30.0


def request_id(given: str | None) -> str:
    """The caller's own request id, or a new one."""
    return f"cli-{secrets.token_hex(8)}" if given is None else given


def operate(layout: Layout, command: Operation, *, as_json: bool) -> None:
    """Carry out one command and say where its event stands; raises `DeskError`."""
    configure_logs("desk", "warning")
    try:
        payload = canonical(command)
        command = read_command(payload)
        done = _carried_out(layout, payload, command)
    except UnicodeEncodeError as error:
        raise UsageError("a text that is no UTF-8 cannot stand in the log") from error
    except CommandRefused as error:
        raise UsageError(str(error)) from error
    if as_json:
        show_json(msgspec.to_builtins(done))
    else:
        show(f"{command.told()} ({done.event} stands at sequence {done.seq})")


def _carried_out(layout: Layout, payload: bytes, command: Operation) -> Done:
    """By the desk that runs, else by ourselves under its lock; raises `CommandRefused`, `DeskError`.

    A desk that is ending or starting, another command that has the lock, an answer that was lost, as when the desk's own key was
    the one rotated: ask again, for it is one event however often.
    """
    return patiently(
        lambda: ask(layout, payload) if running_desk(layout) is not None else with_log(layout, Appending(layout, command))
    )


def ask(layout: Layout, payload: bytes) -> Done:
    """Let the running desk do it; raises `CommandRefused`, `DeskError`."""

    async def work(connection: Connection, _keys: DeskKeys) -> bytes:
        return await connection.rpc.request(SUBJECT, payload, ANSWER_S)

    answer = json.loads(with_running(layout, work))
    if "error" in answer:
        raise CommandRefused(answer["error"]["code"], answer["error"]["message"])
    try:
        return msgspec.convert(answer, Done)
    except msgspec.ValidationError as error:
        raise DeskError(f"the desk's answer cannot be read: {error}") from error


class Appending:
    """Append one command's event as the desk, which does not run, and bring the read models to the log's end."""

    def __init__(self, layout: Layout, command: Operation) -> None:
        """Append this one."""
        self._layout, self._command = layout, command

    async def __call__(self, connection: Connection, keys: DeskKeys) -> Done:
        """Fold the whole log, then append."""
        from services.desk.read_models import Follow

        signer = keys.root_signer() if isinstance(self._command, Rotate) else keys.signer()
        follow = Follow(self._layout)
        participant = participant_of(connection, keys, signer, follow.apply, follow.dropped)
        try:
            await follow.begin(connection.log)
            await participant.start()
            rotation = Rotation(keys, signer, spread=nothing)
            await rotation.settle(participant.state.ledger)
            return await carry_out(participant, self._command, rotation)
        finally:
            await participant.close()
            follow.end()


def participant_of(
    connection: Connection, keys: DeskKeys, signer: Signer, fold: Callable[[DeskState, Event], DeskState], on_drop: OnDrop
) -> Participant[DeskState]:
    """The desk's part in a log; it is not started yet."""
    return Participant(
        connection.log,
        connection.rpc,
        author=AUTHOR,
        instance=instance_name(),
        desk=DESK_NAME,
        state=DeskState(),
        apply=fold,
        keyring=keys.identity().keyring(),
        signer=signer,
        on_drop=on_drop,
    )


async def nothing() -> None:
    """The server of a single command ends with it; the next one reads its users anew."""
