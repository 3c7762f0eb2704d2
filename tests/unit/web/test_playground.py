"""The playground as it is asked over HTTP."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.unit.web.serving import served

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX = "let max = replace x, y by x if x >= y in <2, 9, 5, max>"
# One reaction that no Python code can interrupt.
DEAF = "<A, (replace A by pow(7, pow(10, 9)))>"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("playground") / "space.db") as made:
        yield made


def _ask(client: httpx.Client, **question: Any) -> httpx.Response:
    return client.post("/api/playground", json=question)


def test_the_page_gets_examples_words_and_limits(client: httpx.Client) -> None:
    """What the page needs to begin is one answer."""
    found = client.get("/api/playground").json()
    assert found["examples"][0]["name"] == "maximum"
    assert "replace-one" in found["words"]["keywords"]
    assert found["usual"]["seconds_max"] <= found["limits"]["seconds"]


def test_a_program_is_run_without_control(client: httpx.Client) -> None:
    """A page that may change nothing runs programs: they change nothing."""
    assert client.get("/api/about").json()["control"] is False
    assert _ask(client, ask="run", program=MAX).json()["outcome"]["solution"] == "<9, max>"


def test_what_is_wrong_with_a_program_is_an_answer(client: httpx.Client) -> None:
    """An error of a program is no error of the request."""
    answer = _ask(client, ask="check", program="<1")
    assert answer.status_code == 200
    assert answer.json()["problems"][0]["code"].startswith("H1")


def test_a_question_that_is_none_is_refused(client: httpx.Client) -> None:
    """A question that asks for more than there may be is answered by 422, with a code."""
    refused = _ask(client, ask="run", program=MAX, seconds_max=3600)
    assert (refused.status_code, refused.json()["code"]) == (422, "H370")


def test_a_question_that_is_too_long_is_not_read(client: httpx.Client) -> None:
    """A program that is longer than any may be is refused before it is read to its end."""
    refused = client.post("/api/playground", content=b" " * 1_000_000, headers={"content-type": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (422, "H370")


def test_other_pages_cannot_have_programs_run(client: httpx.Client) -> None:
    """A request from another page is refused, and so is a form, which another page could send unasked."""
    question = {"ask": "run", "program": MAX}
    assert client.post("/api/playground", json=question, headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/api/playground", json=question, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    plain = client.post("/api/playground", content=b'{"ask": "run"}', headers={"content-type": "text/plain"})
    assert plain.status_code == 415


def test_the_server_answers_while_a_program_computes(client: httpx.Client) -> None:
    """A program that takes all its time holds up nobody else."""
    found: list[Any] = []
    slow = threading.Thread(
        target=lambda: found.append(_ask(client, ask="run", program=DEAF, seconds_max=2.0).json()), daemon=True
    )
    slow.start()
    assert client.get("/api/about").status_code == 200
    assert _ask(client, ask="check", program=MAX).json() == {"problems": []}
    assert not found
    slow.join(60)
    assert found[0]["problems"][0]["code"] == "H502"


def test_a_program_that_nobody_waits_for_is_ended(client: httpx.Client) -> None:
    """When the page has gone, there is room for other programs at once."""
    for _ in range(3):
        with pytest.raises(httpx.ReadTimeout):
            client.post("/api/playground", json={"ask": "run", "program": DEAF, "seconds_max": 10}, timeout=0.3)
    started = time.monotonic()
    assert _ask(client, ask="check", program=MAX).json() == {"problems": []}
    # Three that were still at work would take 36 seconds, two at a time.
    assert time.monotonic() - started < 10
