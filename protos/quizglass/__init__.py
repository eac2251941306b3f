"""The quizglass contract: what server and clients share."""

__version__ = "0.1.0"
