"""What the log adds up to: books, account, halts, and the work that is still owed."""
