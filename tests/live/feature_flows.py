"""Workflows that each use one feature, and what comes of them, wherever they run: see `test_features.py`.

They return the same in every order in which their tasks may happen. Agents import the functions. Where calls are
counted (`agents_services`), each leaves a line and takes a while.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent import (
    active_of,
    all_threads,
    any_of,
    attempt,
    cancels,
    choose,
    choose_some,
    deferred,
    delay,
    each,
    ends,
    first_of,
    http,
    locked,
    milestone,
    program,
    register_codec,
    repeat,
    resource,
    section,
    sends,
    service,
    shell,
    signal_value,
    threads,
    waits_for,
    workflow,
)
from solvent.workflows.formats.files import load
from tests.live.agents_services import note
from tests.repo.project import ROOT


@service
def double(number: int) -> int:
    """Double a number."""
    note()
    return 2 * number


@service
def add(one: int, other: int) -> int:
    """Add two numbers."""
    note()
    return one + other


@service
def count_up(end: int) -> list[int]:
    """Return the numbers below another."""
    note()
    return list(range(end))


@service
def total(numbers: list[int]) -> int:
    """Add numbers."""
    note()
    return sum(numbers)


@service
def refuse(number: int) -> int:
    """Fail."""
    note()
    raise LookupError(f"no {number}")


@service
def refuse_odd(number: int) -> int:
    """Fail for odd numbers."""
    note()
    if number % 2:
        raise LookupError(f"no {number}")
    return number


@service
def refuse_four(number: int) -> int:
    """Fail for one number."""
    note()
    if number == 4:
        raise LookupError("no four")
    return -number


@service
async def hang(number: int) -> int:
    """Never end, unless it is cancelled."""
    await asyncio.Event().wait()
    return number


@service(timeout=0.2)
async def dawdle(number: int) -> int:
    """Take too long."""
    await asyncio.Event().wait()
    return number


@service
def look_at(value: Any) -> Any:
    """Return a value."""
    note()
    return value


@service
def add_thirty(number: int) -> int:
    """Add a number."""
    note()
    return number + 30


def is_thirty(number: int) -> bool:
    """Whether a number is thirty."""
    return number == 30


def is_small(number: int) -> bool:
    """Whether a number is small."""
    return number < 10


greet = shell("echo hello {0}", name="greet")
fetch = http("GET", "http://127.0.0.1:{0}/", name="fetch")
largest = program(str(Path(__file__).with_name("largest.hocl")), name="largest")


# --- Alternatives.


@workflow
def on_failure(number: int = 4) -> int:
    """Replace a task that fails, with one after it."""
    return double(attempt(refuse(number), otherwise=double.named("spare")(number)))


@workflow
def on_timeout(number: int = 4) -> int:
    """Replace a task that takes too long."""
    return attempt(dawdle(number), otherwise=double(number), on="timeout")


@workflow
def on_rejection(number: int = 4) -> int:
    """Replace a task whose result is rejected by text."""
    return attempt(double(number), otherwise=add(number, 30), when="result < 10")


@workflow
def on_rejection_by_function(number: int = 4) -> int:
    """Replace a task whose result is rejected by a function."""
    return attempt(double(number), otherwise=add(number, 30), when=is_small)


@workflow
def noticed_late(number: int = 4) -> int:
    """Replace a task two steps after it was done, and do again what had used it."""
    first = double.named("first")(number)
    second = add.named("second")(first, 1)
    third = look_at(second)
    attempt(first, otherwise=add.named("spare")(number, 30), when="result < 10", watch=third)
    return third


@workflow
def nested(number: int = 4) -> int:
    """Replace what replaces a task."""
    spare = attempt(refuse.named("second")(number), otherwise=double(number))
    return attempt(refuse.named("first")(number), otherwise=spare)


@workflow
def several_exits(number: int = 4) -> list[int]:
    """Replace two tasks by two others when one fails."""
    old = refuse(number), double.named("old")(number)
    new = double.named("new")(number), add(number, 1)
    return look_at([*attempt(old, otherwise=new)])


@workflow
def with_items(end: int = 4) -> int:
    """Replace a task of which one item fails."""
    numbers = count_up(end)
    return total(attempt(refuse_odd.each(numbers), otherwise=double.each(numbers)))


# --- Data.


@workflow
def dot(end: int = 4) -> list[int]:
    """Call a service with the first items, the second items, and so on."""
    numbers = count_up(end)
    return add.each(numbers, double.each(numbers))


@workflow
def crossed(end: int = 3) -> list[int]:
    """Call a service with each item of one list and each of the other."""
    numbers = count_up(end)
    return add.cross(numbers, [10, 20])


@workflow
def dot_and_cross(end: int = 2) -> int:
    """Cross pairs with a list."""
    numbers = count_up(end)
    return total(add3.cross(each(numbers, double.each(numbers)), [10, 20]))


@service
def add3(one: int, other: int, third: int) -> int:
    """Add three numbers."""
    note()
    return one + other + third


@workflow
def filtered(end: int = 4) -> int:
    """Take an item of a list."""
    return double(count_up(end)[2])


@workflow
def instances(end: int = 4) -> list[Any]:
    """Call a service several times at once: a fixed number of times, and for each item."""
    return look_at([look_at.named("thrice").many(3)(end), double.many(over=0)(count_up(end))])


@workflow
def threaded(number: int = 4) -> list[int]:
    """Pass a result on several times, and join the copies."""
    return look_at(all_threads(threads(double(number), 3), 3))


# --- Control flow.


@workflow
def chosen(number: int = 4) -> int:
    """Go one of two ways."""
    first = double.named("first")(number)
    large, small = add.named("large")(first, 100), add.named("small")(first, 1)
    choose(first, ("result > 10", large), otherwise=small)
    return double(any_of(large, small))


@workflow
def chosen_some(number: int = 4) -> list[int]:
    """Go some of three ways."""
    first = double.named("first")(number)
    ways = [add.named(f"way{one}")(first, one) for one in range(3)]
    choose_some(first, ("result > 1", ways[0]), ("result > 100", ways[1]), ("result > 2", ways[2]))
    return look_at(active_of(*ways))


@workflow
def repeated(number: int = 4) -> int:
    """Repeat a task until its result is large."""
    first = double(look_at.named("begin")(number))
    return look_at.named("end")(repeat(first, back_to=first, when="result < 50"))


@workflow
def raced(number: int = 4) -> int:
    """Use the first of two results, and cancel the other task."""
    return double(first_of(look_at(number), hang(number), cancel=True))


@workflow
def cancelled(number: int = 4) -> int:
    """Cancel a task that would never end."""
    endless = hang(number)
    return cancels(double(number), endless)


@workflow
def ended(number: int = 4) -> int:
    """End everything, whatever still runs."""
    hang(number)
    return ends(double(number))


@workflow(locks={"pair": 2})
def with_locks(number: int = 4) -> list[int]:
    """Hold a lock, one with two permits, and one over two tasks."""
    alone = [locked(add.named(f"alone{one}")(number, one), "one") for one in range(3)]
    pairs = [locked(add.named(f"pair{one}")(number, one), "pair") for one in range(3)]
    begun = double(number)
    return look_at([*alone, *pairs, section("one", begun, double(begun))])


@workflow
def in_milestone(number: int = 4) -> list[int]:
    """Start a task only between two others."""
    first, during = double.named("first")(number), add(number, 1)
    last = double.named("last").after(during)(first)
    return look_at([milestone(during, after=first, before=last), last])


@workflow
def signalled(number: int = 4) -> int:
    """Start a task by a signal of another."""
    sends(double.named("sender")(number), "ready")
    return waits_for(double(number), "ready")


@workflow
def signalled_from_outside(number: int = 4) -> list[Any]:
    """Start a task by a signal from outside, whose value it takes."""
    return look_at([double(number), look_at.named("heard")(signal_value("approved"))])


@workflow
def decided(number: int = 4) -> int:
    """Let a signal decide which way is gone."""
    asked = double.named("asked")(number)
    yes, no = waits_for(add.named("yes")(asked, 1), "approved"), waits_for(add.named("no")(asked, 2), "refused")
    deferred(asked, yes, no)
    return double(any_of(yes, no))


@workflow
def delayed(number: int = 4) -> int:
    """Wait for a time."""
    return double(delay("0.05s", number))


@workflow
def unheard(number: int = 4) -> int:
    """Replace a task whose signal does not come in time."""
    late = waits_for(double(number), "never", timeout="0.1s")
    return attempt(late, otherwise=add(number, 1), on="timeout")


# --- Services and resources.


@service
def fill(table: Any) -> None:
    """Write to a resource."""
    note()
    table[:4] = b"done"


@service
def read(table: Any) -> str:
    """Read a resource."""
    note()
    return bytes(table).decode()


capitalise = shell("sed -i s/d/D/ {0}", name="capitalise")


@workflow
def of_resources() -> str:
    """Change a resource in a function and in a command, and read it in another task."""
    table = resource("table", size=4)
    return read.after(capitalise.after(fill(table))(table))(table.read)


@workflow
def outer(number: int = 4) -> int:
    """Call another workflow, once and for each item."""
    return add(nested(number), total(on_failure.each(count_up(number))))


@workflow
def of_commands(number: int = 4) -> str:
    """Call a command."""
    return greet(double(number))


@workflow
def of_http(port: int) -> Any:
    """Call an address."""
    return fetch(port)


@workflow
def of_hocl(end: int = 4) -> int:
    """Run a HOCL program."""
    return largest(count_up(end))


class Scale:
    """No data."""

    def __init__(self, factor: int) -> None:
        self._factor = factor

    def of(self, number: int) -> int:
        """Return a number times the factor."""
        return self._factor * number


class Distance:
    """No data, but with a codec."""

    def __init__(self, metres: int) -> None:
        self._metres = metres

    @property
    def metres(self) -> int:
        """How far it is."""
        return self._metres


register_codec(Distance, encode=lambda one: one.metres, decode=Distance)


@service(pickle=True)
def scale(factor: int) -> dict[str, Any]:
    """Return something with a part that is no data."""
    note()
    return {"scale": Scale(factor), "factor": factor}


@service
def scaled(made: dict[str, Any], number: int) -> Distance:
    """Take something with a part that is no data, and return what has a codec."""
    note()
    return Distance(made["scale"].of(number))


@service
def metres(distance: Distance) -> int:
    """Take what has a codec."""
    note()
    return distance.metres


def is_wide(made: dict[str, Any]) -> bool:
    """Look into a part that is no data."""
    return bool(made["scale"].of(1) > 10)


@workflow
def of_no_data(factor: int = 40) -> list[int]:
    """Pass on what is no data, and judge it."""
    made = attempt(scale(factor), otherwise=scale.named("narrow")(3), when=is_wide)
    return metres.each(scaled.each([made, made], [1, 2]))


@workflow
def healed_items(end: int = 6) -> list[Any]:
    """Call other services for single items, leave some out, give others a default."""
    numbers = count_up(end)
    elsewhere = refuse_odd.otherwise(double).each(numbers)
    judged = double.otherwise(add_thirty, when="result < 3").otherwise(refuse_four, when=is_thirty).each(numbers)
    left = refuse_odd.otherwise(refuse_four, on="timeout").each(numbers, on_error="skip")
    filled = refuse_odd.each(numbers, on_error="default", default=-1)
    return look_at.named("all")([elsewhere, judged, left, filled])


@service(cache="1d", cache_key=lambda number: number % 3)
def third(number: int) -> int:
    """Return what is left of a number."""
    note()
    return number % 3


@workflow
def of_cache(end: int = 6) -> list[int]:
    """Call a service whose results are used again."""
    return third.each(count_up(end))


@dataclass(frozen=True)
class Row:
    """A feature: what it is called in the table, the workflow, what it returns, and how many alternatives apply."""

    name: str
    flow: Any
    value: Any
    adaptations: int = 0
    signals: tuple[tuple[float, str, Any], ...] = ()
    #: Tasks that are cancelled.
    cancelled: tuple[str, ...] = ()

    @property
    def workflow(self) -> Any:
        """The workflow, or the flow that makes it; one of a file is loaded."""
        return load(str(self.flow)).workflow if isinstance(self.flow, Path) else self.flow

    @property
    def file(self) -> str:
        """What `solvent run` runs."""
        return str(self.flow) if isinstance(self.flow, Path) else f"{__file__}:{self.flow.definition().name}"


ROWS = (
    Row("alternative on failure", on_failure, 16, 1),
    Row("alternative on a time-out", on_timeout, 8, 1),
    Row("alternative on a rejected result, by text", on_rejection, 34, 1),
    Row("alternative on a rejected result, by a function", on_rejection_by_function, 34, 1),
    Row("alternative for what is noticed late", noticed_late, 35, 1),
    Row("alternative of an alternative", nested, 8, 2),
    Row("alternative with several exits", several_exits, [8, 5], 1),
    Row("alternative for a task that is called for each item", with_items, 12, 1),
    Row(
        "[healing per item](workflows.md#items-that-fail)",
        healed_items,
        [[0, 2, 2, 6, 4, 10], [0, 31, 4, 6, 8, 10], [0, 2, 4], [0, -1, 2, -1, 4, -1]],
    ),
    Row("dot product (`each`)", dot, [0, 3, 6, 9]),
    Row("cross product (`cross`)", crossed, [10, 20, 11, 21, 12, 22]),
    Row("dot inside cross", dot_and_cross, 66),
    Row("filters", filtered, 4),
    Row("several instances (`many`)", instances, [[4, 4, 4], [0, 2, 4, 6]]),
    Row("threads: split and merge", threaded, [8, 8, 8]),
    Row("exclusive choice", chosen, 18),
    Row("multiple choice", chosen_some, [8, 10]),
    Row("loop", repeated, 64),
    Row("first of several, others cancelled", raced, 8, cancelled=("hang",)),
    Row("cancellation", cancelled, 8, cancelled=("hang",)),
    Row("end of the whole workflow", ended, 8, cancelled=("hang",)),
    Row("locks, with permits and over sections", with_locks, [4, 5, 6, 4, 5, 6, 16]),
    Row("milestone", in_milestone, [5, 16]),
    Row("signal of a task", signalled, 8),
    Row("signal from outside", signalled_from_outside, [8, "Ann"], signals=((0.0, "approved", "Ann"),)),
    Row("deferred choice by a signal", decided, 18, signals=((0.0, "approved", None),)),
    Row("signal that does not come in time", unheard, 5, 1),
    Row("delay", delayed, 8),
    Row("sub-workflows, with alternatives inside", outer, 32, 6),
    Row("shell commands", of_commands, "hello 8"),
    Row("HTTP services", of_http, {"said": "hello"}),
    Row("HOCL programs", of_hocl, 3),
    Row(
        "seven services that [coordinate themselves](../explanation/molecular-composition.md)",
        ROOT / "examples" / "patterns" / "coordination.hocl",
        "the result is 12",
    ),
    Row("resources", of_resources, "Done"),
    Row("[results that are used again](workflows.md#the-cache)", of_cache, [0, 1, 2, 0, 1, 2]),
    Row("[pickles, and codecs of users](values.md#what-cannot-be-kept)", of_no_data, [3, 6], 1),
)

__all__ = ["ROWS", "Row"]
