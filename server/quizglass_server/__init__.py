"""quizglass: a visual question answering server for wearables."""

from quizglass_server.offline import stay_offline

__version__ = "0.1.0"

stay_offline()
