"""How a task joins, splits, repeats, waits and cancels: the words of which all workflow patterns are composed.

A task without `Control` waits for all its sources, is called once and passes its result to all its destinations. With
one, tasks pass *tokens*: a task may be started several times, also while it still runs, once for each time its join is
satisfied. `docs/reference/patterns.md` says which words make which pattern.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from solvent.workflow.slots import Argument  # noqa: TC001 - msgspec looks at the types


class Test(msgspec.Struct, frozen=True, omit_defaults=True):
    """A condition on a result: HOCL text that calls it `result`, or a Python function of it."""

    __test__ = False  # Not a test case, whatever pytest thinks of its name.

    when: str | None = None
    predicate: Any = None


class Route(msgspec.Struct, frozen=True, omit_defaults=True):
    """A way onwards; without a test it is taken where no route with one is (`one`, `some`), or always."""

    task: str
    test: Test | None = None


class Many(msgspec.Struct, frozen=True, omit_defaults=True):
    """Several instances of a task for each start of it.

    Either `count` says how many, each called with the same arguments; or `over` is the position of an argument that is
    a list, and each instance gets one item of it.
    """

    count: Argument | None = None
    over: int | None = None
    need: int | None = None
    """How many results are waited for; all, if not given."""
    apart: bool = False
    """Nothing is waited for: each instance passes on its result by itself."""
    cancels: bool = False
    """The instances that are still running are cancelled when enough results are there."""
    more: Test | None = None
    """A result for which this holds asks for one more instance, which (with `over`) gets it in place of its item."""
    enough: Test | None = None
    """The list of results so far for which this holds is enough."""


class Control(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a task does besides calling its service."""

    join: str = "all"
    """What starts it: `all` its sources, `any` one of them (each arrival starts it once more), the `first` so many of
    a round (`need`; the rest of the round is ignored), all that are `active` (that can still arrive), or a rule library
    of the workflow's `patterns`."""
    need: int = 1
    """With `first`: how many arrivals start it. With a library: a number for its rules."""
    cancels_rest: bool = False
    """With `first`: what is still at work on the other branches is cancelled."""
    threads: int = 1
    """How many arrivals of each source it takes to start once (thread merge)."""
    split: Literal["all", "one", "some", "deferred"] = "all"
    """Whom its result is passed to: `all`, the `one` route that holds first, `some` (every route that holds), or
    `deferred`: offered to all, and gone with the first that starts."""
    routes: tuple[Route, ...] = ()
    """The destinations with their conditions, in order. Destinations that are not named have none."""
    again: Route | None = None
    """Where to go back to, and while what holds of the result; otherwise onwards."""
    copies: int = 1
    """How often it passes its result to each destination (thread split)."""
    takes: tuple[str, ...] = ()
    """Locks it takes when it starts."""
    gives: tuple[str, ...] = ()
    """Locks it gives back when it is done."""
    signal: str | None = None
    """A signal that it waits for."""
    is_transient: bool = False
    """The signal is lost if it comes while the task does not wait for it; otherwise it is kept."""
    sends: tuple[str, ...] = ()
    """Signals it sends when it is done."""
    during: tuple[str, str] | None = None
    """It can start only while the first of these is done and the second has not started since (milestone)."""
    cancels: tuple[str, ...] = ()
    """Tasks that are withdrawn when it is done: what waits for them is dropped, and their calls are ended."""
    completes: tuple[str, ...] = ()
    """Tasks of several instances that go on with the results they have when it is done."""
    ends: Literal["", "case", "cancelled"] = ""
    """When it is done the case is over at once: successfully, or cancelled."""
    many: Many | None = None
    """Several instances of it."""

    @property
    def named(self) -> tuple[str, ...]:
        """The destinations that it names itself."""
        back = () if self.again is None else (self.again.task,)
        return tuple(dict.fromkeys([*(route.task for route in self.routes), *back]))


def test_text(test: Test | None, key: str) -> str:
    """Give a condition as the rules carry it: its text, or `?` and a key for a Python function, or nothing."""
    if test is None:
        return ""
    return test.when if test.when is not None else f"?{key}"


__all__ = ["Control", "Many", "Route", "Test", "test_text"]
