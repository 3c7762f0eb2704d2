"""One of the shop's servers: `python server.py NAME [--answers-max N]`; prints its port, then answers.

With `--answers-max 2` the process ends at its third request, without an answer.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import unquote

ORDERS = {"A-17": ["tea", "cup", "spoon", "honey", "kettle"]}
PRICES = {"tea": 4.5, "cup": 8.0, "spoon": 2.25, "honey": 6.0, "kettle": 30.0}


def answer(place: str, key: str, arguments: list[Any]) -> Any:
    """Give what stands at an address; what is not there raises a `KeyError`."""
    match place:
        case "orders":
            return ORDERS[key]
        case "prices":
            return PRICES[key]
        case "shipping":
            return 3.0 + 0.5 * len(arguments[0])
        case "total":
            return sum(arguments[0]) + arguments[1]
    raise KeyError(place)


class Handler(BaseHTTPRequestHandler):
    """Answers requests, one after the other, and counts them."""

    answers = 0
    answers_max: int | None = None

    def do_GET(self) -> None:
        """Answer a request without a body; `/count` says how many others were answered."""
        place, _, key = self.path[1:].partition("/")
        if place == "count":
            self.reply(200, Handler.answers)
        else:
            self.work(place, unquote(key), [])

    def do_POST(self) -> None:
        """Answer a request with arguments."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.work(self.path[1:], "", body["arguments"])

    def work(self, place: str, key: str, arguments: list[Any]) -> None:
        """Answer, or die."""
        if Handler.answers == Handler.answers_max:
            os._exit(1)
        Handler.answers += 1
        try:
            self.reply(200, answer(place, key, arguments))
        except KeyError as error:
            self.reply(404, f"there is no {error}")

    def reply(self, status: int, value: Any) -> None:
        """Send a value as JSON."""
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


if __name__ == "__main__":
    if "--answers-max" in sys.argv:
        Handler.answers_max = int(sys.argv[-1])
    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
