"""A generator process as a CPU or a compiler may spoil it: `python faulty_child.py WHEN HOW LOG, then its arguments`.

WHEN is "extra", for a fault of llama.cpp's extra buffers, "always" or "never"; HOW is the number of a signal, or
"nonsense". Each start is a line in LOG: "extra" or "plain".
"""

import os
import sys
from pathlib import Path


def main() -> None:
    when, how, log = sys.argv[1:4]
    plain = any('"extra_buffers": false' in argument for argument in sys.argv)
    with Path(log).open("a") as starts:
        starts.write("plain\n" if plain else "extra\n")
    faulty = when == "always" or (when == "extra" and not plain)
    if faulty and how != "nonsense":
        os.kill(os.getpid(), int(how))
    sys.argv[1:] = sys.argv[4:]
    from quizglass_server.engines.llama.child import main as child
    from quizglass_server.engines.llama.native import known_model

    if faulty:
        first, *rest = known_model.LOGITS
        known_model.LOGITS = (first[::-1], *rest)
    child.main()


if __name__ == "__main__":
    main()
