"""Nothing leaves the machine: what libraries that would call home, or download, have to be told before they are loaded.

The package itself calls this, so it comes before every library that the server, the exporter, their child processes
(which inherit the variables) and whoever else imports it load. The variables are set whatever they were: that nothing
leaves is promised, not preferred.
"""

from __future__ import annotations

import os

VARIABLES = {
    # ONNX Runtime for Linux collects device, models and run times, writes them to the user's cache and to TMPDIR, and
    # sends them. Its own call to end this (`disable_telemetry_events`) comes after the first event.
    "ORT_DISABLE_TELEMETRY": "1",
    # Checkpoints are folders. A name that is none must be an error, not a download.
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


def stay_offline() -> None:
    """Tell libraries that are loaded from now on, here and in child processes."""
    os.environ.update(VARIABLES)
