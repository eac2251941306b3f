"""The server that is meant where none is named."""

DEFAULT_TARGET = "127.0.0.1:50061"
