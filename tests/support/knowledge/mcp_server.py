"""An MCP server over Streamable HTTP, as a process: prints its port, and serves until its input ends."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

FOUND = [
    {"title": "Velmora", "snippet": "The Velmora costs <b>45</b> crowns.", "url": "https://cars.example/velmora"},
    {"name": "Tagrin", "text": "The Tagrin lies in Brenn."},
]
server = MCPServer("wiki")


@server.tool()
def search(query: str, language: str = "en") -> list[dict[str, str]]:
    """Search the wiki."""
    return [*FOUND, {"title": "Asked", "text": f"{query} in {language}"}]


@server.tool()
def tell(query: str) -> str:
    """Tell in a sentence."""
    return f"The answer to {query} is 45 crowns."


@server.tool()
def written(query: str) -> str:
    """Search the wiki, and write JSON."""
    return json.dumps(FOUND)


@server.tool()
def wrapped(query: str) -> dict[str, object]:
    """Search the wiki, with more about the search."""
    return {"query": query, "suggestions": ["car"], "results": FOUND, "total": len(FOUND)}


@server.tool()
def wrong(query: str) -> str:
    """Fail with the query in the message."""
    raise ValueError(f"no {query}")


@server.tool()
def hang(query: str) -> str:
    """Take an hour."""
    time.sleep(3600)
    return query


@server.tool()
def flood(query: str) -> str:
    """Send megabytes."""
    return "x" * (4 << 20)


def main() -> None:
    app: Any = server.streamable_http_app()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        threading.Thread(target=serving.run, args=([listening],), daemon=True).start()
        while not serving.started:
            time.sleep(0.01)
        print(listening.getsockname()[1], flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
