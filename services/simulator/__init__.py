"""A stand-in broker: an exchange model that plays real daily bars, with books of its own."""
