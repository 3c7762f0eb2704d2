"""Metrics over HTTP: `GET /metrics`, in a thread of its own.

A request must use an address or a name of this machine: a web page whose name was made to point here (DNS rebinding)
could read the metrics otherwise.
"""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar, Self

from solvent.errors import AgentProblem
from solvent.runs.observing.hosts import is_own_name
from solvent.runs.observing.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from solvent.runs.observing.metrics import Metrics

HOST = "127.0.0.1"
_MAX_SECONDS = 10.0


class Endpoint:
    """Listens at an address for as long as it is a context; `address` is where it really listens."""

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        class Handler(_Handler):
            numbers = metrics
            names = frozenset({host, socket.gethostname()})

        try:
            self._server = _Server((host, port), Handler)
        except OSError as error:
            said = f"metrics cannot be offered at {host}:{port}: {error.strerror or error}"
            raise AgentProblem("A109", said, hint="another port; 0 takes any that is free") from None
        at = self._server.server_address
        name = f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{at[1]}/metrics"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def handle_error(self, *_: object) -> None:
        """Say nothing of readers that went away."""


class _Handler(BaseHTTPRequestHandler):
    numbers: ClassVar[Metrics]
    names: ClassVar[frozenset[str]]
    timeout = _MAX_SECONDS
    server_version = "solvent"
    sys_version = ""

    def do_GET(self) -> None:
        name = self.headers.get("Host", "")
        if not is_own_name(name, self.names):
            self.send_error(403, "this agent is not called so", "use an address, or name the host: --metrics HOST:PORT")
            return
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404, "metrics are at /metrics")
            return
        data = self.numbers.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing of each reader."""


__all__ = ["HOST", "Endpoint"]
