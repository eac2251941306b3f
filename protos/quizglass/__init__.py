"""The quizglass contract: what server and clients share."""

__version__ = "0.2.0"
