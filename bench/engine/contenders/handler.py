"""`Llama` with its Qwen2.5-VL handler, in a process of its own: a request a line on standard input, tokens on output.

Runs in the peers' environment and imports nothing of the project.
"""

from __future__ import annotations

import argparse
import json
import os
import sys


def main() -> None:
    """Load, say so with one line, and serve until standard input ends."""
    from llama_cpp import Llama
    from llama_cpp.llama_chat_format import Qwen25VLChatHandler

    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "projector"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("context", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    arguments = parser.parse_args()
    # C code prints to standard output too.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    llama = Llama(
        arguments.model,
        n_ctx=arguments.context,
        n_threads=arguments.threads,
        n_threads_batch=arguments.threads,
        flash_attn=True,
        chat_handler=Qwen25VLChatHandler(arguments.projector, verbose=False),
        verbose=False,
    )
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        for chunk in llama.create_chat_completion(**request, temperature=0.0, repeat_penalty=1.0, stream=True):
            print(json.dumps(chunk), file=out, flush=True)
        print(file=out, flush=True)


if __name__ == "__main__":
    main()
