"""Who remembers: read models in a database that is rebuilt from the log at any time. It hashes the state and compares."""
