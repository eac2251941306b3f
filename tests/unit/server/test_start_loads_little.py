"""A start loads nothing that no request may ever need, and that takes long."""

from __future__ import annotations

import json
import subprocess
import sys

_LATER = ("num2words", "rapidocr", "onnxruntime", "uvicorn", "opentelemetry", "pymilvus", "torch", "wcwidth")
"""For numbers that are said aloud, words in pictures, models, what settings ask for, and pages of a display."""


def test_the_server_is_imported_without_what_only_some_requests_need() -> None:
    code = "import json, sys, quizglass_server.app; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [name for name in _LATER if name in json.loads(done.stdout)] == []
