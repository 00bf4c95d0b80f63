"""The language of the desk: envelope, events, numbers, times, ids, subjects and reasons."""
