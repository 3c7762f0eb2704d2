"""Who may ask the page, and what browsers are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.web.server import HEADERS, Guard
from tests.unit.web.page_server import served

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765", "192.0.2.1", "proxy.example:80"]
)
def test_page_answers_to_addresses_and_its_own_names(host: str) -> None:
    """An address, `localhost` and names that were given are the page's own."""
    assert Guard(None, frozenset({"Proxy.example"})).is_ours(host)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8765", "[::1", "a@b"]
)
def test_page_does_not_answer_to_other_names(host: str) -> None:
    """A name that somebody else has made point here is refused."""
    assert not Guard(None).is_ours(host)  # type: ignore[arg-type]


def test_requests_by_other_names_are_refused(tmp_path: Path) -> None:
    """A request with another host, or from the page of another, is answered by 403 and nothing else."""
    with served(tmp_path / "store.db") as client:
        assert client.get("/api/about").json()["control"] is False
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"origin": "null"}):
            refused = client.get("/api/about", headers=headers)
            assert (refused.status_code, list(refused.json())) == (403, ["error"])
        crossing = client.post("/api/about", headers={"sec-fetch-site": "cross-site"})
        assert crossing.status_code == 403


def test_browsers_are_told_to_run_only_our_scripts(tmp_path: Path) -> None:
    """Every answer, also a refusal, forbids scripts, frames and addresses of others."""
    with served(tmp_path / "store.db") as client:
        for answer in (client.get("/"), client.get("/page/main.js"), client.get("/", headers={"host": "evil.example"})):
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS
            assert "unsafe" not in answer.headers["content-security-policy"]
