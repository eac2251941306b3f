"""How the next token is chosen, by every generator: llama-server here, and servers elsewhere."""

from __future__ import annotations

TEMPERATURE = 0
"""The likeliest token is taken, so that the same prompt gets the same answer. Requests cannot change it."""
