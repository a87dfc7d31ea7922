"""A model's HTTP server on loopback that says what it was told to, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Scripted:
    """Where it is, what it says next, and all that was asked."""

    def __init__(self, url: str, answers: list[Any]) -> None:
        self.url, self.answers = url, answers
        self.asked: list[Any] = []


@contextmanager
def scripted(answers: list[Any]) -> Iterator[Scripted]:
    """Serve the answers one after the other, whatever is posted."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.asked.append(json.loads(body))
            data = json.dumps(found.answers.pop(0)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Scripted(f"http://127.0.0.1:{server.server_address[1]}", answers)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
