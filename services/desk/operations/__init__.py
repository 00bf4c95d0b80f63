"""What an operator can ask of a desk: one struct per command, which checks itself against the state and names its event."""
