"""quizglass: a visual question answering server for wearables."""

__version__ = "0.1.0"
