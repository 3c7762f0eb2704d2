"""How a task joins, splits, repeats, waits and cancels, in workflow files: words that stand among its other keys.

    join: any                 all, any, first, active, or a library of the workflow's `patterns`
    join: {first: 2}          a number beside it; {first: 1, cancel: true}; {threads: 3}; {majority: 2}
    split: one                all, one, some, deferred
    to: [B, C]                the ways onwards, in order, or with conditions: {B: "result > 3", C: null}
    again: {to: H, when: "result < 3"}
    threads: 3                it passes its result on three times
    lock: L                   taken at the start, given back at the end; one by one with `takes` and `gives`
    signal: go                waits for it; {transient: go} if one that comes too early is lost
    sends: go                 signals that it sends
    during: [A, C]            only while A is done and C has not started
    cancels: A, completes: B  tasks that are withdrawn, or go on with what they have
    ends: true                the case is over when it is done; `cancelled`: as a cancelled one
    instances: 3              or {count: "$n", need: 2, cancel: true}, {over: 0, apart: true}, with `more` and `enough`

A condition is HOCL text, or {predicate: "module:function"}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.workflow.control import Control, Many, Route, Test
from solvent.workflow.slots import Value

if TYPE_CHECKING:
    from collections.abc import Collection

    from solvent.workflow.files.reading import Reader
    from solvent.workflow.model import Task
    from solvent.workflow.places import Path

CONTROL_KEYS = (
    "join", "split", "to", "again", "threads", "lock", "takes", "gives", "signal", "sends", "during", "cancels",
    "completes", "ends", "instances",
)  # fmt: skip
JOINS = ("all", "any", "first", "active")
BESIDE_JOIN = ("cancel", "threads")
SPLITS = ("all", "one", "some", "deferred")
SIGNAL_KEYS = ("persistent", "transient")
MANY_KEYS = ("count", "over", "need", "cancel", "apart", "more", "enough")
_WORDS = frozenset(CONTROL_KEYS)
_USUAL = Control()


def read_control(
    reader: Reader, found: dict[str, Any], path: Path, task: Task, patterns: Collection[str]
) -> Control | None:
    """Read what a task does besides calling its service; nothing if it says nothing, or only what is usual."""
    if _WORDS.isdisjoint(found):
        return None

    def names(key: str) -> tuple[str, ...]:
        return reader.names(found.get(key), (*path, key), f"`{key}`")

    locks = names("lock")
    threads, again, many = found.get("threads"), found.get("again"), found.get("instances")
    control = Control(
        **_join(reader, found.get("join"), (*path, "join"), patterns),
        split=_split(reader, found.get("split"), (*path, "split")),
        routes=_routes(reader, found.get("to"), (*path, "to")),
        again=None if again is None else _again(reader, again, (*path, "again")),
        copies=1 if threads is None else reader.whole(threads, (*path, "threads"), "`threads`"),
        takes=(*locks, *names("takes")),
        gives=(*locks, *names("gives")),
        **_signal(reader, found.get("signal"), (*path, "signal")),
        sends=names("sends"),
        during=_during(reader, found.get("during"), (*path, "during")),
        cancels=names("cancels"),
        completes=names("completes"),
        ends=_ends(reader, found.get("ends"), (*path, "ends")),
        many=None if many is None else _many(reader, many, (*path, "instances"), task),
    )
    return None if control == _USUAL else control


def read_patterns(reader: Reader, data: Any, path: Path) -> dict[str, str]:
    """Read the rule libraries of a workflow: names by which tasks may join, with paths."""
    found = {}
    for name, file in reader.mapping(data or {}, path, "`patterns`").items():
        if name in JOINS or name in BESIDE_JOIN:
            message = f"a pattern cannot be called `{name}`, which means something in `join`"
            reader.fail("W105", message, (*path, name), hint="give it another name")
        found[name] = reader.text(file, (*path, name), f"the path of the pattern `{name}`")
    return found


def read_locks(reader: Reader, data: Any, path: Path) -> dict[str, int]:
    """Read how many tasks may hold each lock at the same time."""
    found = reader.mapping(data or {}, path, "`locks`")
    return {name: reader.whole(count, (*path, name), f"the lock `{name}`") for name, count in found.items()}


# --- Before it starts.


def _join(reader: Reader, data: Any, path: Path, patterns: Collection[str]) -> dict[str, Any]:
    if data is None:
        return {}
    known = (*JOINS, *patterns)
    if not isinstance(data, dict):
        word = reader.text(data, path, "`join`")
        if word not in known:
            reader.fail_word("W105", f"`{word}` is no way to join", path, word, known)
        return {"join": word}
    found = reader.mapping(data, path, "`join`", (*known, *BESIDE_JOIN))
    ways = [key for key in found if key in known]
    if len(ways) > 1:
        hint = f"keep one of them: `join: {ways[0]}`"
        reader.fail("W105", f"a task joins in one way, not by both `{ways[0]}` and `{ways[1]}`", path, hint=hint)
    word = ways[0] if ways else "all"
    cancels = reader.flag(found.get("cancel"), (*path, "cancel"), "`cancel`")
    if cancels and word != "first":
        message = f"`cancel` ends the branches that are left after the `first`, not after `{word}`"
        reader.fail("W105", message, (*path, "cancel"), hint="`join: {first: 1, cancel: true}`")
    threads = found.get("threads")
    return {
        "join": word,
        "need": _need(reader, word, found.get(word), (*path, word)),
        "cancels_rest": cancels,
        "threads": 1 if threads is None else reader.whole(threads, (*path, "threads"), "`threads`"),
    }


def _need(reader: Reader, word: str, data: Any, path: Path) -> int:
    """Read what stands beside the way to join: a number where it takes one, otherwise `true` or nothing."""
    if data is None or data is True:
        return 1
    if word in JOINS and word != "first":
        reader.fail("W105", f"`{word}` takes no number", path, hint=f"`{word}: true`")
    return reader.whole(data, path, f"the number of `{word}`")


def _signal(reader: Reader, data: Any, path: Path) -> dict[str, Any]:
    if not isinstance(data, dict):
        return {"signal": reader.text_or_nothing(data, path, "`signal`")}
    found = reader.mapping(data, path, "`signal`", SIGNAL_KEYS)
    if len(found) != 1:
        hint = "one that comes too early is kept if it is persistent, and lost if it is transient"
        reader.fail("W105", "`signal` is either `persistent` or `transient`", path, hint=hint)
    ((kind, name),) = found.items()
    return {"signal": reader.text(name, (*path, kind), "the name of a signal"), "is_transient": kind == "transient"}


def _during(reader: Reader, data: Any, path: Path) -> tuple[str, str] | None:
    if data is None:
        return None
    match reader.names(data, path, "`during`"):
        case (first, second):
            return first, second
    hint = "`[A, C]`: A is done and C has not started"
    reader.fail("W105", "`during` names two tasks", path, hint=hint)


# --- After it is done.


def _split(reader: Reader, data: Any, path: Path) -> Any:
    word = reader.text("all" if data is None else data, path, "`split`")
    if word not in SPLITS:
        reader.fail_word("W105", f"`{word}` is no way to split", path, word, SPLITS)
    return word


def _routes(reader: Reader, data: Any, path: Path) -> tuple[Route, ...]:
    """Read ways onwards: names, a mapping of them to conditions, or a list of both where one is named twice."""
    if isinstance(data, dict):
        return _tested(reader, data, path)
    if data is None or isinstance(data, str):
        return tuple(map(Route, reader.names(data, path, "`to`")))
    found: list[Route] = []
    for at, one in enumerate(reader.list(data, path, "`to`")):
        if isinstance(one, dict):
            found += _tested(reader, one, (*path, at))
        else:
            found.append(Route(reader.text(one, (*path, at), "a name in `to`")))
    return tuple(found)


def _tested(reader: Reader, data: dict[str, Any], path: Path) -> tuple[Route, ...]:
    return tuple(
        Route(task, None if test is None else _test(reader, test, (*path, task), f"the condition of `{task}`"))
        for task, test in data.items()
    )


def _again(reader: Reader, data: Any, path: Path) -> Route:
    found = reader.mapping(data, path, "`again`", ("to", "when", "predicate"), required=("to",))
    task = reader.text(found["to"], (*path, "to"), "the task to go back to")
    tests = {key: test for key, test in found.items() if key != "to" and test is not None}
    return Route(task, _test(reader, tests, path, "`again`") if tests else None)


def _test(reader: Reader, data: Any, path: Path, what: str) -> Test:
    """Read a condition: HOCL text, or a mapping with `when`, `predicate` or both."""
    if not isinstance(data, dict):
        if isinstance(data, bool | float | list):
            hint = 'HOCL in quotes, such as "result > 3", or {predicate: "module:function"}'
            reader.fail("W104", f"{what} is no condition", path, hint=hint)
        return Test(reader.text(data, path, what))
    found = reader.mapping(data, path, what, ("when", "predicate"))
    test = Test(
        reader.text_or_nothing(found.get("when"), (*path, "when"), "`when`"),
        reader.text_or_nothing(found.get("predicate"), (*path, "predicate"), "`predicate`"),
    )
    if test == Test():
        reader.fail("W104", f"{what} needs the key `when` or `predicate`", path)
    return test


def _ends(reader: Reader, data: Any, path: Path) -> Any:
    if data is None or isinstance(data, bool):
        return "case" if data else ""
    word = reader.text(data, path, "`ends`")
    if word != "cancelled":
        reader.fail_word("W105", f"a case cannot end as `{word}`", path, word, ("true", "cancelled"))
    return word


# --- Several instances.


def _many(reader: Reader, data: Any, path: Path, task: Task) -> Many:
    if not isinstance(data, dict):
        return Many(Value(reader.whole(data, path, "`instances`")))
    found = reader.mapping(data, path, "`instances`", MANY_KEYS)
    given = {key: value for key, value in found.items() if value is not None}
    if ("count" in given) == ("over" in given):
        hint = '`{count: "$n"}`: so many; `{over: 0}`: one for each item of the first argument'
        reader.fail("W104", "`instances` needs either `count` or `over`", path, hint=hint)
    count = reader.argument(given["count"], (*path, "count")) if "count" in given else None
    if isinstance(count, Value):
        reader.whole(count.value, (*path, "count"), "`count`")

    def test(key: str) -> Test | None:
        return _test(reader, given[key], (*path, key), f"`{key}`") if key in given else None

    return Many(
        count=count,
        over=reader.position(given["over"], (*path, "over"), task) if "over" in given else None,
        need=reader.whole(given["need"], (*path, "need"), "`need`") if "need" in given else None,
        apart=reader.flag(given.get("apart"), (*path, "apart"), "`apart`"),
        cancels=reader.flag(given.get("cancel"), (*path, "cancel"), "`cancel`"),
        more=test("more"),
        enough=test("enough"),
    )


__all__ = [
    "BESIDE_JOIN", "CONTROL_KEYS", "JOINS", "MANY_KEYS", "SIGNAL_KEYS", "SPLITS", "read_control", "read_locks",
    "read_patterns",
]  # fmt: skip
