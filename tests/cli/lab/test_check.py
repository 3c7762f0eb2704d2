"""`solvent lab check PROTOCOL`: counts, violations as diagrams, exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from solvent.cli.main import main
from solvent_lab.checker import registry


@pytest.fixture(autouse=True)
def _protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two more protocols: `token`, which holds, and `query`, which does not."""
    monkeypatch.setitem(registry._MODULES, "token", ("tests.unit.lab.checker.token_models",))
    monkeypatch.setitem(registry._MODULES, "query", ("tests.unit.lab.checker.query_models",))


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["lab", "check", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def _without_seconds(table: str) -> list[list[str]]:
    """Give the words of a table, without the column that differs from run to run."""
    rows = [line.split(maxsplit=5) for line in table.strip().split("\n")]
    return [row[:4] + row[5:] for row in rows]


def test_all_models_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """Each model has a line with its counts."""
    code, out, err = _said(capsys, "token")
    assert (code, err) == (0, "")
    assert _without_seconds(out) == [
        ["model", "states", "moves", "depth", "verdict"],
        ["two", "42", "74", "9", "holds"],
        ["three", "189", "396", "15", "holds"],
    ]


def test_json_sums_up(capsys: pytest.CaptureFixture[str]) -> None:
    """The sums are on top, each model below."""
    code, out, _ = _said(capsys, "token", "--format", "json")
    found = json.loads(out)
    seconds = [found.pop("seconds"), *[one.pop("seconds") for one in found["models"].values()]]
    assert code == 0
    assert all(isinstance(one, float) for one in seconds)
    assert found == {
        "protocol": "token",
        "states": 231,
        "violations": [],
        "models": {
            "two": {"verdict": "holds", "states": 42, "transitions": 74, "depth": 9, "violations": []},
            "three": {"verdict": "holds", "states": 189, "transitions": 396, "depth": 15, "violations": []},
        },
    }


DIAGRAM = [
    "   client                                          server",
    " 1 |--------------------Query()-------------------x|",
]


def test_violation_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """What does not hold is shown with the shortest way to it; the exit code is 1."""
    code, out, _ = _said(capsys, "query")
    assert code == 1
    assert out.split("\n")[2:] == [
        "",
        "lossy",
        *DIAGRAM,
        "violated: a goal can always be reached",
        "  nothing can happen any more",
        "",
    ]


def test_violation_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A violation names its model, its property and how many moves show it."""
    code, out, _ = _said(capsys, "query", "--format", "json")
    violation: dict[str, Any] = {
        "property": "a goal can always be reached",
        "message": "nothing can happen any more",
        "moves": 1,
        "diagram": DIAGRAM,
    }
    assert code == 1
    assert json.loads(out)["violations"] == [{"model": "lossy"} | violation]
    assert json.loads(out)["models"]["lossy"]["violations"] == [violation]


def test_broken_models_that_are_caught(capsys: pytest.CaptureFixture[str]) -> None:
    """A fault that is found is what a broken model is for."""
    code, out, _ = _said(capsys, "token", "--broken", "hasty", "--broken", "lossy")
    assert code == 0
    assert [row[-1] for row in _without_seconds(out)[:3]] == [
        "verdict",
        "caught: at most one node is inside",
        "caught: a goal can always be reached",
    ]


def test_broken_model_that_passes(capsys: pytest.CaptureFixture[str]) -> None:
    """A fault that is not found is the checker's own."""
    code, out, _ = _said(capsys, "token", "--broken", "all", "--format", "json")
    verdicts = {name: one["verdict"] for name, one in json.loads(out)["broken"].items()}
    assert code == 1
    assert verdicts == {"hasty": "caught", "lossy": "caught", "not broken": "missed"}
    assert json.loads(out)["violations"] == []


def test_limit_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Not all states were seen: exit code 3."""
    code, out, err = _said(capsys, "token", "--max-states", "20")
    assert (code, [row[-1] for row in _without_seconds(out)[1:]]) == (3, ["limit reached"] * 2)
    assert err == "stopped after 20 states\n  hint: raise --max-states\n"


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` names them with their titles."""
    code, out, _ = _said(capsys, "token", "--list")
    assert (code, out.split("\n")[:3]) == (
        0,
        ["models", "  two         2 nodes that pass a token", "  three       3 nodes that pass a token"],
    )
    listed = json.loads(_said(capsys, "token", "--list", "--format", "json")[1])
    assert listed["models"]["two"].startswith("2 nodes")
    assert listed["large"] == {"four": "4 nodes that pass a token"}


def test_large_models_are_listed_apart_and_checked_when_named(capsys: pytest.CaptureFixture[str]) -> None:
    """They take long, so nobody gets them unasked."""
    lines = _said(capsys, "token", "--list")[1].split("\n")
    assert lines[3].startswith("large (")
    assert lines[4].split()[0] == "four"
    rows = _without_seconds(_said(capsys, "token", "--model", "all", "--model", "four")[1])
    assert [row[0] for row in rows] == ["model", "two", "three", "four"]


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A model that does not exist is wrong usage."""
    code, _, err = _said(capsys, "token", "--model", "tow")
    assert (code, err) == (2, "error[P312]: `token` has no model `tow`\n  hint: did you mean `two`?\n")
    code, _, err = _said(capsys, "token", "--broken", "nothing")
    assert (code, err.split("\n")[0]) == (2, "error[P312]: `token` has no broken model `nothing`")


def test_unknown_protocol_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """A protocol that does not exist is wrong usage; the nearest one is named, or all of them."""
    assert main(["lab", "check", "captur"]) == 2
    assert capsys.readouterr().err == (
        "error[P311]: there is no protocol `captur` to check\n  hint: did you mean `capture`?\n"
    )
    assert main(["lab", "check", "nothing"]) == 2
    assert "hint: there is: capture, " in capsys.readouterr().err
