"""Which parts of a picture are looked up: those that a question points at, and boxes of what it names."""
