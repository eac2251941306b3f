"""Parts of a picture to look up: those that a question points at, and detected boxes of the things that it names."""
