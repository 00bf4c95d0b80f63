"""nats-py's own client, let in by a key of the desk's own format: the library would need a package that has no wheel."""

from typing import Any

from nats.aio.client import Client

from shared.bus.keys import Key


async def connect_keyed(url: str, key: Key, **options: Any) -> Client:
    """Connect as the user whose key it is; what else nats-py's `connect` takes goes into `options`."""
    client = Client()
    client._public_nkey = key.public
    await client.connect(url, signature_cb=key.answer, **options)
    return client
