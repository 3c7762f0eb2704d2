"""Server-sent events, read as a browser reads them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import urllib3

    from tests.unit.web.page_server import Client


class Event(NamedTuple):
    """One event: its kind, its number, and what it says."""

    kind: str
    number: str
    data: Any


@contextmanager
def listening(client: Client, address: str, *, last: str = "") -> Iterator[Iterator[Event]]:
    """Listen to an address, perhaps from behind what was heard last."""
    headers = {"last-event-id": last} if last else {}
    with client.stream(address, headers) as answer:
        assert answer.status == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _events(_lines(answer))


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[str]:
    rest = b""
    while data := answer.read1():
        *lines, rest = (rest + data).split(b"\n")
        yield from (line.decode().rstrip("\r") for line in lines)


def _events(lines: Iterator[str]) -> Iterator[Event]:
    said: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            said[name] = value
            continue
        if "data" in said:
            yield Event(said.get("event", "message"), said.get("id", ""), json.loads(said["data"]))
        said = {}


def told(events: Iterator[Event], kind: str) -> Iterator[dict[str, Any]]:
    """Give the messages of one kind, as they come."""
    for event in events:
        if event.kind == "news":
            yield from (one for one in event.data if one["e"] == kind)


__all__ = ["Event", "listening", "told"]
