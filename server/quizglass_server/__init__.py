"""quizglass: a visual question answering server for wearables."""

import os

from quizglass import __version__
from quizglass_server.offline import stay_offline

__all__ = ["__version__"]

stay_offline()
# Read by gRPC when it is imported, wherever that is. Its handlers for forks crash children of a process that serves;
# nothing here calls gRPC in a child that was forked.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
