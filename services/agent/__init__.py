"""The agent: who proposes. Runs the proposal sources, one per book; it never touches the broker."""
