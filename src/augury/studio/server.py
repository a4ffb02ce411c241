"""The page's server: the standard library's, on the loopback, for the page itself and nobody else.

Another page in the same browser could send requests here, or a name that was made to mean 127.0.0.1. So requests must name
this host, must not come from another origin, and questions need a header that no foreign page may send unasked.
"""

from __future__ import annotations

import json
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import unquote

from augury.studio.desk import Desk

MOST = 64 * 1024 * 1024
_PAGES = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
_QUESTIONS = ("samples", "sample", "check", "run", "why")
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def server(port: int = 0, desk: Desk | None = None) -> ThreadingHTTPServer:
    """A server that is bound and not yet serving; port 0 takes one that is free."""
    found = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, Desk() if desk is None else desk))
    found.daemon_threads = True
    return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, desk: Desk, *rest: Any) -> None:
        self.desk = desk
        super().__init__(*rest)

    def log_message(self, *_what: Any) -> None:
        """A terminal is no log."""

    def do_GET(self) -> None:  # the standard library's name
        if not self._is_ours():
            self._send(HTTPStatus.FORBIDDEN, b"this page is for this machine", "text/plain")
            return
        found = _PAGES.get(self.path.partition("?")[0])
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, b"there is no such page", "text/plain")
            return
        name, kind = found
        self._send(HTTPStatus.OK, files("augury.studio").joinpath(name).read_bytes(), kind)

    def do_POST(self) -> None:  # the standard library's name
        length = self.headers.get("Content-Length", "")
        if not self._is_ours() or self.headers.get("X-Augury") != "studio":
            self.close_connection = True
            self._send(HTTPStatus.FORBIDDEN, b"questions come from the page itself", "text/plain")
            return
        if not length.isdigit() or int(length) > MOST:
            self.close_connection = True
            said = {
                "error": {
                    "message": f"a file may have {MOST // 1024**2} MB; for larger ones there is augury match"
                }
            }
            self._answer(said)
            return
        body = self.rfile.read(int(length))
        question = self.path.removeprefix("/ask/")
        if self.path == "/data":
            self._answer(self.desk.upload(unquote(self.headers.get("X-Name", "upload")), body))
        elif question in _QUESTIONS:
            self._ask(question, body)
        else:
            self._send(HTTPStatus.NOT_FOUND, b"there is no such question", "text/plain")

    def _ask(self, question: str, body: bytes) -> None:
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if isinstance(asked, dict):
            self._answer(self.desk.answer(question, asked))
        else:
            self._send(HTTPStatus.BAD_REQUEST, b"a question is an object in JSON", "text/plain")

    def _is_ours(self) -> bool:
        port = self.connection.getsockname()[1]
        hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        origin = self.headers.get("Origin")
        return self.headers.get("Host") in hosts and (
            origin is None or origin.removeprefix("http://") in hosts
        )

    def _answer(self, said: dict[str, Any]) -> None:
        self._send(HTTPStatus.OK, json.dumps(said).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)
