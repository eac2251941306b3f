"""A gateway that lets OpenAI's API through and nothing else, as those before servers of a company do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@contextmanager
def openai_door(address: str, asked: list[str] | None = None) -> Iterator[str]:
    """Stand before a server until the end; the address of the gateway.

    Args:
        address: of the server.
        asked: gets the path of each request that is let through.
    """
    upstream = urlsplit(address)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on()

        def do_POST(self) -> None:
            self._pass_on()

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if not self.path.startswith("/v1/"):
                self.send_error(404)
                return
            if asked is not None:
                asked.append(self.path)
            server = HTTPConnection(upstream.hostname or "", upstream.port, timeout=60)
            server.request(self.command, self.path, body, {"Content-Type": "application/json"})
            response = server.getresponse()
            self.send_response(response.status)
            self.send_header("Content-Type", response.getheader("Content-Type", ""))
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while piece := response.read1(1 << 16):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
            server.close()

    door = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=door.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{door.server_port}"
    finally:
        door.shutdown()
        door.server_close()
        thread.join()
