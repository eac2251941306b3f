"""The quizglass contract: what server and clients share."""

__version__ = "0.2.0"

PORT = 50061
"""That servers listen on and clients call where no other is named."""
