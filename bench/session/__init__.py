"""A wearable's session on a real server: its times, its bytes, its memory, and what links that break do to it."""
