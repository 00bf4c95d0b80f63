"""How events travel: one append-only log and request/reply, over JetStream between processes or in memory for tests."""
