"""What every process of the desk shares: its language, its ledger and its bus."""
