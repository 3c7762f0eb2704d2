"""Serve the weather of `data/` at `/weather/2021-01` on localhost, as unreliably as services are; print the port.

`python weather_service.py [PORT]`; without a port, a free one is chosen.
The first request for some months is answered with 503, and that for others is not answered at all.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

HERE = Path(__file__).parent
BUSY_EVERY, SILENT_EVERY = 5, 7
SILENT_SECONDS = 60


def read_months() -> dict[str, list[float]]:
    """Return the temperatures of each month, hour by hour."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in (HERE / "data" / "weather.csv").read_text().splitlines():
        hour, degrees = line.split(",")
        found[hour[:7]].append(float(degrees))
    return found


class Handler(BaseHTTPRequestHandler):
    """Answers requests for months, some of them only when they are repeated."""

    months: ClassVar[dict[str, list[float]]] = {}
    asked: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        """Answer a request."""
        month = self.path.rsplit("/", 1)[-1]
        Handler.asked[month] += 1
        if month not in self.months:
            return self.reply(404, f"there is no weather for {month}")
        index = list(self.months).index(month)
        if Handler.asked[month] == 1 and index % BUSY_EVERY == 1:
            return self.reply(503, "busy")
        if Handler.asked[month] == 1 and index % SILENT_EVERY == 2:
            time.sleep(SILENT_SECONDS)
        return self.reply(200, self.months[month])

    def reply(self, status: int, value: object) -> None:
        """Send a value as JSON; a client that has left does not read it."""
        body = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    Handler.months.update(read_months())
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
