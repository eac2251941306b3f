"""What it costs to be open to others and to be watched, and whether strangers are turned away."""

SECTIONS = (
    "encryption",
    "watching",
    "refusals",
    "tokens",
    "fairness",
    "apart",
    "guesses",
    "restarts",
    "image",
    "sources",
)
"""A module each, with `run`; in the order of the table."""
SOAK = "soak"
"""A section that takes an hour: `bench.network.soak` measures it, and a run of the others leaves it as it was."""
