"""The playground as it is asked over HTTP."""

from __future__ import annotations

import json
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from solvent.web.playground.sandbox import Sandbox
from tests.unit.web.page_server import MAX_SECONDS, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.web.playground.question import Question
    from solvent.web.playground.sandbox import Job
    from tests.unit.web.page_server import Answer, Client

MAX = "let max = replace x, y by x if x >= y in <2, 9, 5, max>"
# One reaction that takes many seconds, though each of its values is allowed.
DEAF = f"<A, (replace A by ({', '.join(['pow(7, 370000) % 7'] * 2000)}))>"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with served(tmp_path_factory.mktemp("playground") / "store.db") as made:
        yield made


def _ask(client: Client, **question: Any) -> Answer:
    return client.post("/api/playground", json=question)


def test_a_program_is_run_without_control(client: Client) -> None:
    """A page that may change nothing runs programs: they change nothing."""
    assert client.get("/api/about").json()["control"] is False
    assert _ask(client, ask="run", program=MAX).json()["outcome"]["solution"] == "<9, max>"


def test_a_question_that_is_none_is_refused(client: Client) -> None:
    """A question that asks for more than there may be is answered by 422, with a code."""
    refused = _ask(client, ask="run", program=MAX, max_seconds=3600)
    assert (refused.status_code, refused.json()["code"]) == (422, "H370")


def test_a_question_that_is_too_long_is_not_read(client: Client) -> None:
    """A program that is longer than any may be is refused before it is read to its end."""
    refused = client.post("/api/playground", content=b" " * 1_000_000, headers={"content-type": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (422, "H370")


def test_other_pages_cannot_have_programs_run(client: Client) -> None:
    """A request from another page is refused, and so is a form, which another page could send unasked."""
    question = {"ask": "run", "program": MAX}
    assert client.post("/api/playground", json=question, headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/api/playground", json=question, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    plain = client.post("/api/playground", content=b'{"ask": "run"}', headers={"content-type": "text/plain"})
    assert plain.status_code == 415


@contextmanager
def _asking(client: Client, question: dict[str, Any]) -> Iterator[socket.socket]:
    """Ask by a bare connection, which can be closed before the answer is there; that ends the program."""
    asked, there = json.dumps(question).encode(), urlsplit(client.base_url)
    head = f"POST /api/playground HTTP/1.1\r\nHost: {there.netloc}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(asked)}\r\n\r\n"
    with socket.create_connection((there.hostname or "", there.port or 80)) as slow:
        slow.sendall(head.encode() + asked)
        yield slow


def test_the_server_answers_while_a_program_computes(client: Client) -> None:
    """A program that takes all its time holds up nobody else."""
    with _asking(client, {"ask": "run", "program": DEAF, "max_seconds": 10.0}) as slow:
        assert client.get("/api/about").status_code == 200
        assert _ask(client, ask="check", program=MAX).json() == {"problems": []}
        slow.setblocking(False)
        with pytest.raises(BlockingIOError):
            slow.recv(1)


def test_a_program_that_nobody_waits_for_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the page has gone, its program is ended, long before its time is over."""
    jobs: list[Job] = []

    class Watched(Sandbox):
        def ask(self, question: Question) -> Job:
            jobs.append(super().ask(question))
            return jobs[-1]

    monkeypatch.setattr("solvent.web.playground.routes.Sandbox", Watched)
    with served(tmp_path / "store.db") as client:
        with _asking(client, {"ask": "run", "program": DEAF, "max_seconds": 10}):
            until = time.monotonic() + MAX_SECONDS
            while not jobs:
                assert time.monotonic() < until
                time.sleep(0.01)
        answer = json.loads(jobs[0].future.result(200))
    # One that had been ended by its clock would be H502.
    assert [one["code"] for one in answer["problems"]] == ["H505"]
