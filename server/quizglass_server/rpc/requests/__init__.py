"""Requests from their bytes: counted first, so that it is known what they become, then unpacked and parsed."""
