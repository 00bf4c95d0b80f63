"""One ephemeral JetStream consumer of the whole log: in memory, without acknowledgements, driven by raw pulls."""

import secrets
from typing import Final

import msgspec
from nats import errors

from shared.bus.js_api import NS_PER_S, call
from shared.bus.lean_client import Direct
from shared.bus.link import Link
from shared.protocol.ids import STREAM

BATCH: Final = 1000
PULL_EXPIRES_S: Final = 60
HEARTBEAT_S: Final = 5
INACTIVE_S: Final = 30

_PULL: Final = msgspec.json.encode(
    {"batch": BATCH, "expires": PULL_EXPIRES_S * NS_PER_S, "idle_heartbeat": HEARTBEAT_S * NS_PER_S}
)


class Consumer:
    """A consumer on the server and the inbox to which it delivers."""

    def __init__(self, link: Link, name: str, inbox: str, sid: int) -> None:
        """Use `Consumer.make`."""
        self._link, self.name, self._inbox, self._sid = link, name, inbox, sid
        self._pull_subject = f"{link.api}.CONSUMER.MSG.NEXT.{STREAM}.{name}"

    @classmethod
    async def make(cls, link: Link, start_seq: int, deliver: Direct) -> "Consumer":
        """A new one whose first delivery is `start_seq`; nothing comes before the first `pull`.

        Raises what `js_api.call` raises.
        """
        name = f"r_{link.role}_{secrets.token_hex(8)}"
        inbox = link.client.new_inbox()
        sid = await link.client.subscribe_direct(inbox, deliver)
        config = {
            "name": name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": start_seq,
            "ack_policy": "none",
            "replay_policy": "instant",
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": INACTIVE_S * NS_PER_S,
        }
        consumer = cls(link, name, inbox, sid)
        request = {"stream_name": STREAM, "config": config, "action": "create"}
        try:
            await call(link, f"CONSUMER.CREATE.{STREAM}.{name}", request, dict[str, object])
        except BaseException:
            await consumer.discard()
            raise
        return consumer

    async def pull(self) -> None:
        """Ask for `BATCH` more messages; raises `nats.errors.Error` without a connection."""
        await self._link.client.publish(self._pull_subject, _PULL, reply=self._inbox)

    async def discard(self) -> None:
        """Deliver nothing more, and tell the server, which else forgets the consumer after `INACTIVE_S`."""
        try:
            await self._link.client.unsubscribe_direct(self._sid)
            await self._link.tell(f"{self._link.api}.CONSUMER.DELETE.{STREAM}.{self.name}")
        except errors.Error:
            return
