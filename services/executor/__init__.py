"""Who trades: orders, fills, reconciliation, prices. The only process that knows the broker."""
