"""The desk: the `propdesk` command, the supervisor of the embedded stack, and the author of desk time."""
