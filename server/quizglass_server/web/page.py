"""The page for browsers: the files of `static/`, read once, as applications by path."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable

from quizglass_server.web.http.asgi import App, Receive, Scope, Send, header, respond
from quizglass_server.web.http.gate import Route

INDEX = "index.html"
SAMPLES = "/samples/samples.json"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
}


def page_routes(bundle: str) -> dict[str, Route]:
    """A route for each file; the page itself is at /.

    The sample pictures show things that one bundle was trained on and its knowledge is about: none are served with any
    other.

    Args:
        bundle: name of the bundle that is served.
    """
    files = dict(_files(resources.files("quizglass_server.web") / "static", ""))
    if json.loads(files[SAMPLES])["bundle"] != bundle:
        files = {path: content for path, content in files.items() if not path.startswith("/samples/")}
        files[SAMPLES] = json.dumps({"samples": []}).encode()
    routes = {path: Route(_file(content, _TYPES[path.rpartition(".")[2]]), ("GET",)) for path, content in files.items()}
    routes["/"] = routes.pop(f"/{INDEX}")
    return routes


def _files(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    files: list[tuple[str, bytes]] = []
    for each in folder.iterdir():
        if each.is_dir():
            files += _files(each, f"{path}/{each.name}")
        else:
            files.append((f"{path}/{each.name}", each.read_bytes()))
    return files


def _file(content: bytes, content_type: str) -> App:
    tag = f'"{sha256(content).hexdigest()[:16]}"'
    headers = ((b"etag", tag.encode()), (b"cache-control", b"no-cache"))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if header(scope, b"if-none-match") == tag:
            await send({"type": "http.response.start", "status": 304, "headers": list(headers)})
            await send({"type": "http.response.body", "body": b""})
        else:
            await respond(send, 200, content, content_type, headers)

    return serve
