"""Interactive Brokers: what its answers mean. The only part of the project that knows `ib_async`."""
