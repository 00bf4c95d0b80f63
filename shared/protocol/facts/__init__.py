"""What each event says, one module per author; `shared.protocol.events` has them all."""
