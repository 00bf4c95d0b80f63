"""The desk's processes, one package each."""
