"""A llama-server that misbehaves: `python fake_llama_server.py MODE LOG, then llama-server's flags`.

It answers the self-test as it should, unless MODE says otherwise, and everything else with two tokens. Each start is a
line in LOG: "repack" or "plain".
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

from quizglass_server.engines.generator.checks import known_model

MODE, LOG, FLAGS = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
PLAIN = "--no-repack" in FLAGS
ASKED = {"tokens": 0}
FAULTS = {"ILL": signal.SIGILL, "SEGV": signal.SIGSEGV, "KILL": signal.SIGKILL}


def main() -> None:
    with LOG.open("a") as starts:
        starts.write("plain\n" if PLAIN else "repack\n")
    when, _, how = MODE.partition(" ")
    if when == "always" or (when == "repacked" and not PLAIN):
        if how in FAULTS:
            os.kill(os.getpid(), FAULTS[how])
        if how.isdecimal():
            print("0.01 E srv load_model: failed to load model, 'no such architecture'", file=sys.stderr, flush=True)
            raise SystemExit(int(how))
    if MODE == "old":
        print("error: invalid argument: --kv-unified-per-slot", file=sys.stderr, flush=True)
        raise SystemExit(1)
    if MODE == "silent" and "--list-devices" not in FLAGS:  # that it answers, or a minute goes by before it is started
        time.sleep(3600)
    host = FLAGS[FLAGS.index("--host") + 1]
    Server(host, Handler).serve_forever()


class Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "client"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.tell({"status": "ok", "media_marker": "<m>", "modalities": {"vision": True}, "model_alias": "fake"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if MODE == "restored" and self.path.endswith("action=restore"):
            os.abort()  # at once: a signal to the process may let this thread answer first
        if self.path == "/tokenize":
            self.tell({"tokens": [ord(each) for each in body["content"]]})
        elif body.get("n_probs") == known_model.VOCABULARY:
            self.self_test(len(body["prompt"]))
        elif MODE == "500":
            self.tell({"error": {"code": 500, "message": "it went wrong"}}, 500)
        elif MODE == "garbage":
            self.stream([b"data: {not json", b""])
        elif MODE == "numbers":
            self.stream([b'data: {"content": 1, "completion_probabilities": [{"logprob": "a"}]}', b""])
        elif MODE == "half":
            self.stream([token("a"), b"\n"])
        elif MODE == "leaves":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.chunk(token("a"))
            self.close_connection = True
            self.connection.close()
        else:
            self.stream([token("a"), token("b"), b'data: {"stop": true, "stop_type": "eos", "tokens_predicted": 3}'])

    def self_test(self, length: int) -> None:
        row = list(known_model.LOGITS[length == len(known_model.PROMPT)])
        if "nonsense" in MODE and (not PLAIN or MODE.startswith("always")):
            row.reverse()
        top = [{"id": place, "logprob": value} for place, value in enumerate(row)]
        self.tell({"completion_probabilities": [{"top_logprobs": top}]})

    def tell(self, document: dict[str, Any], status: int = 200) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def stream(self, events: list[bytes]) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self.chunk(event + b"\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()


def token(text: str) -> bytes:
    event = {"content": text, "stop": False, "completion_probabilities": [{"id": 1, "logprob": -0.1}]}
    return b"data: " + json.dumps(event).encode()


if __name__ == "__main__":
    main()
