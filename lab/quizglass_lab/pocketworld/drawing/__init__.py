"""The shapes of pocketworld's things, and what else a picture of them needs."""
