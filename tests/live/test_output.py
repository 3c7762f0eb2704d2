"""What calls print is kept with them, within a bound, wherever they are made."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import service, shell, workflow
from solvent.runs.projection import view_of
from solvent.runs.registry import existing

if TYPE_CHECKING:
    from solvent.store import Store

MAX_OUTPUT = 4_000


@service
def talk(number: int) -> int:
    """Print to both streams."""
    print("out", number)
    print("error", number, file=sys.stderr)
    return number + 1


@service
async def murmur(number: int) -> int:
    """Print more than is kept."""
    print("x" * 2 * MAX_OUTPUT + str(number))
    return number + 1


@service
def stumble(number: int) -> int:
    """Print and fail."""
    print("before", number)
    raise ValueError("no such column")


shout: Any = shell("echo {0}; echo loud {0} >&2", name="shout")


@workflow
def talking() -> Any:
    """Call each, one after the other, for two numbers at once."""
    return [shout(murmur(talk(number))) for number in (1, 3)]


@workflow
def stumbling() -> Any:
    """Call what prints and fails."""
    return stumble(talk(1))


MODES: dict[str, dict[str, Any]] = {
    "threads": {},
    "worker processes": {"processes": True, "jobs": 2},
    "one agent": {"agents": 1},
    "three agents": {"agents": 3},
}


def outputs(store: Store, run: str) -> dict[str, str]:
    """Return what each call has printed, as far as it was kept."""
    return {call.call: call.output for call in view_of(store, existing(store, run)).calls}


@pytest.mark.parametrize("mode", MODES)
def test_the_output_of_calls_that_succeed_is_kept(store: Store, mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Of much output the end is kept; and it goes where it went before."""
    name = f"talking-{mode.replace(' ', '-')}"
    assert solvent.run(talking, store=store.url, name=name, **MODES[mode]).succeeded
    long = {call: f"…{'x' * (MAX_OUTPUT - 3)}{number}" for call, number in (("murmur", 2), ("murmur_2", 4))}
    short = {"talk": "out 1\nerror 1", "talk_2": "out 3\nerror 3", "shout": "loud 3", "shout_2": "loud 5"}
    assert outputs(store, name) == long | short
    if "agents" not in MODES[mode]:
        out, error = capfd.readouterr()
        assert (out.count("out"), error.count("error")) == (2, 2)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_call_printed_before_it_failed_is_before_its_traceback(store: Store, mode: str) -> None:
    """So it is with a command, whose output is all there is."""
    name = f"stumbling-{mode.replace(' ', '-')}"
    with pytest.raises(solvent.RunFailed):
        solvent.run(stumbling, store=store.url, name=name, **MODES[mode])
    first, *_, last = outputs(store, name)["stumble"].splitlines()
    assert (first, last) == ("before 2", "ValueError: no such column")


def test_nothing_is_noted_of_a_run_that_is_not_recorded() -> None:
    """Its streams are those of the process."""
    seen: list[Any] = []
    look = service(lambda: seen.append(sys.stdout))

    @workflow
    def looking() -> None:
        look()

    before = sys.stdout
    solvent.run(looking)
    assert seen == [before]
    assert sys.stdout is before
