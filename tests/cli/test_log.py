"""Lines of a log: levels, fields, and what is not shown."""

from __future__ import annotations

import json
import re
from io import StringIO

from solvent.cli.log import Log


def test_a_line_is_an_object_with_its_fields() -> None:
    """Fields that mean nothing are left out; the time is in UTC, to the millisecond."""
    out = StringIO()
    Log(out, is_json=True, agent="a1").tell("taken", "took it", run="r1", place=0, task="")
    found = json.loads(out.getvalue())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found.pop("time"))
    assert found == {
        "level": "info",
        "event": "taken",
        "agent": "a1",
        "run": "r1",
        "place": 0,
        "says": "took it",
    }


def test_secrets_and_signs_of_terminals_are_not_shown() -> None:
    """A password in an address, and what would change a terminal, is in neither format, nor in any field."""
    for is_json in (True, False):
        out = StringIO()
        text = "at nats://me:secret@host\x1b[2J"
        Log(out, is_json=is_json).tell("away", text, task=text)
        assert "nats://***@host" in out.getvalue()
        assert "secret" not in out.getvalue()
        assert "\x1b" not in out.getvalue()
        assert "u001b" not in out.getvalue()


def test_what_is_below_the_level_is_not_told() -> None:
    """Only what is as grave as the level is written."""
    out = StringIO()
    log = Log(out, is_json=False, level="warning")
    log.tell("one", "first")
    log.tell("two", "second", level="warning")
    log.tell("three", "third", level="error")
    assert [line.split()[-1] for line in out.getvalue().splitlines()] == ["second", "third"]


def test_a_reader_that_went_away_ends_nothing() -> None:
    """Where nobody reads any more, nothing is written any more."""
    out = StringIO()
    log = Log(out, is_json=False)
    out.close()
    log.tell("one", "first")
    log.tell("two", "second")
