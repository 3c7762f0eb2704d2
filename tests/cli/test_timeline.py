"""`solvent timeline`: what happened when in a recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

FLOW = """\
services: {get: {shell: "exit 3"}, copy: {shell: "echo 2"}, sum: {shell: "echo 5"}}
tasks:
  fetch:  {service: get}
  cached: {service: copy}
  total:  {service: sum, from: fetch}
alternatives: [{name: offline, exits: {fetch: cached}}]
"""


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Record a run in which an alternative applied."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    ran = solvent("run", tmp_path / "flow.yaml", "--store", tmp_path / "runs.db", "--name", "heal", cwd=tmp_path)
    assert ran.code == 0
    return str(tmp_path / "runs.db")


def test_in_the_terminal(store: str) -> None:
    """Each call has a bar and a sign, and the alternative its moment; a beginning of the name will do."""
    result = solvent("timeline", "he", "--store", store)
    assert (result.code, result.err) == (0, "")
    rows = {line.split()[0]: line for line in result.out.splitlines()}
    assert rows["heal:"].startswith("heal: done")
    assert ["✗" in rows["fetch"], "✓" in rows["cached"], "✓" in rows["total"]] == [True] * 3
    assert "offline: cached instead of fetch, because of fetch" in rows["↻"]


def test_as_files(store: str, tmp_path: Path) -> None:
    """The ending of the file says whether it is SVG, PNG or JSON."""
    for name in ("run.svg", "run.png", "run.json", "run.txt"):
        assert solvent("timeline", "heal", "--store", store, "-o", tmp_path / name).code == 0
    assert ET.parse(tmp_path / "run.svg").getroot().tag.endswith("svg")  # noqa: S314 - written just now, by us
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "run.txt").read_text().startswith("heal: done")


def test_as_json(store: str) -> None:
    """All times are in one line of JSON."""
    found = solvent("timeline", "heal", "--store", store, "--format", "json").json
    assert [(call["task"], call["state"]) for call in found["calls"]] == [
        ("fetch", "failed"), ("cached", "done"), ("total", "done"),
    ]  # fmt: skip
    assert [one["alternative"] for one in found["adaptations"]] == ["offline"]
    assert found["seconds"] >= found["calls"][-1]["ended"] >= found["calls"][-1]["began"] >= 0


def test_a_run_that_there_is_not(store: str) -> None:
    """An unknown name is refused as by the other commands."""
    result = solvent("timeline", "nobody", "--store", store)
    assert (result.code, "error[R401]" in result.err) == (solvent("status", "nobody", "--store", store).code, True)


def test_a_form_that_there_is_not(store: str, tmp_path: Path) -> None:
    """Times are no graph, so there is no DOT."""
    result = solvent("timeline", "heal", "--store", store, "-o", tmp_path / "run.dot")
    assert (result.code, "error[H362]" in result.err) == (2, True)
