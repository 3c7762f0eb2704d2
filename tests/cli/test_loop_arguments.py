"""What the tasks to which a loop goes back may take: a result that does not come with a way back is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

LOOP = """\
tasks:
  Cut: {service: one}
  Send: {service: SERVICE, in: [TAKES], after: [Cut], join: any, again: {to: Send, when: "result < 5"}}
  Resend: {service: more, in: [OTHER]}
  End: {service: same, from: Send}
alternatives:
  - {name: other, exits: {Send: Resend}}
"""
CHOICE = """\
tasks:
  Cut: {service: one}
  Send: {service: more, in: [TAKES], after: [Cut], join: any}
  Ask: {service: same, from: Send, split: one, to: {Send: "result < 5", End: null}}
  End: {service: same, in: [{arrived: one}]}
"""
ARRIVED, FROM = "{arrived: one}", "{from: Cut}"
HINT = "take what arrives, `{arrived: one}`: the first time it is the result of `Cut`"

PYTHON = """\
from solvent import attempt, repeat, service, workflow

@service
def cut(number: int) -> int:
    return number

@service
def send(number: int) -> int:
    return number + 1

@workflow
def flow(number: int = 1) -> int:
    first = cut(number)
    middle = cut.named("middle")(first)
    sent = attempt(send(middle), otherwise=send.named("resend")(first))
    repeat(sent, back_to=sent, when="result < 5")
    return cut.named("end")(sent)
"""


def _loop(service: str, takes: str, other: str) -> str:
    return LOOP.replace("SERVICE", service).replace("TAKES", takes).replace("OTHER", other)


REFUSED = {
    "a stand-in": (
        _loop("broken", ARRIVED, FROM),
        "`Resend`, which replaces `Send`, takes the result of `Cut`, and `Send` comes back without it",
    ),
    "an item": (
        _loop("broken", ARRIVED, "{from: Cut, item: 1}"),
        "`Resend`, which replaces `Send`, takes the result of `Cut`, and `Send` comes back without it",
    ),
    "the task itself": (
        _loop("more", FROM, ARRIVED),
        "`Send` takes the result of `Cut`, and `Send` comes back without it",
    ),
    "a choice": (
        CHOICE.replace("TAKES", FROM),
        "`Send` takes the result of `Cut`, and `Ask` comes back without it",
    ),
}


@pytest.mark.parametrize("text, message", REFUSED.values(), ids=REFUSED)
def test_result_that_does_not_come_back_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """From the second round on the argument would be None, so neither `check` nor `run` takes it."""
    file = controlled.put(tmp_path, text)
    for word in ("check", "run"):
        result = solvent(word, file)
        assert (result.code, result.out) == (2, "")
        assert f"error[W137]: {message}\n" in result.err
        assert HINT in result.err


@pytest.mark.parametrize(
    "text", [_loop("broken", ARRIVED, ARRIVED), _loop("more", ARRIVED, ARRIVED), CHOICE.replace("TAKES", ARRIVED)]
)
def test_what_arrives_is_taken_in_every_round(tmp_path: Path, text: str) -> None:
    """With `arrived` each round takes what the one before it gave."""
    file = controlled.put(tmp_path, text)
    assert solvent("check", file).code == 0
    result = solvent("run", file)
    assert (result.code, result.out) == (0, "End: 5\n")


def test_hint_fits_the_language_of_the_file(tmp_path: Path) -> None:
    """A Python user is told what to write in Python."""
    file = tmp_path / "flow.py"
    file.write_text(PYTHON)
    result = solvent("check", file)
    hint = "call it with the step that `send` is called with: from the second round on it gets the result of `send`"
    assert (result.code, "error[W137]" in result.err, hint in result.err) == (2, True, True), result.err
    assert "arrived" not in result.err
