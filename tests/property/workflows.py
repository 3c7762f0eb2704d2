"""Workflows at random: graphs of tasks, alternatives for some of them, and the fate of every call.

`scenarios()` gives a workflow together with what happens to each task: it answers, fails, takes too long, answers with
a result that is rejected, or dislikes what comes from a certain task upstream. A result says where it comes from,
`[task, mark, arguments]`, so results differ whenever anything differs that led to them.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from solvent.services import cancelled
from solvent.workflows.model import Alternative, Each, Input, Policy, Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.workflows.model import Argument

TIMEOUT_SECONDS = 0.02
MAX_CALL_SECONDS = 200.0
"""Seconds that no call should ever take in full."""
BAD = 1
CONDITION = "nth(2, result) == 1"
_NOTING = threading.Lock()


def is_bad(result: Any) -> bool:
    """Reject a result that bears the mark."""
    return bool(result[1] == BAD)


class TooSlow(Exception):
    """Raised in the plain evaluation where a call would take too long."""


@dataclass
class Fate:
    """What happens to the calls of a task; `disliked` names a task whose traces in the arguments make it happen."""

    kind: str = "answers"
    disliked: str | None = None


def behave(name: str, fate: Fate, arguments: list[Any]) -> list[Any]:
    """Do what a task's service does."""
    strikes = fate.disliked is None or mentions(arguments, fate.disliked)
    if strikes and fate.kind == "fails":
        raise ValueError(name)
    if strikes and fate.kind == "is slow":
        raise TooSlow(name)
    return [name, BAD if strikes and fate.kind == "is bad" else 0, arguments]


def mentions(value: Any, name: str) -> bool:
    """Tell whether a task took part in a value."""
    return any(mentions(one, name) for one in value) if isinstance(value, list) else value == name


@dataclass
class Scenario:
    """A workflow without its services, and the fates of its tasks."""

    tasks: list[Task] = field(default_factory=list)
    alternatives: list[Alternative] = field(default_factory=list)
    fates: dict[str, Fate] = field(default_factory=dict)
    is_late: bool = False
    """Whether a result that was passed on already may be replaced, so that tasks can be called again."""

    def workflow(self, calls: list[tuple[str, list[Any]]] | None = None) -> Workflow:
        """Give the workflow; its services note their calls."""
        noted = [] if calls is None else calls
        services = [_service(task.name, self.fates[task.name], noted) for task in self.tasks]
        return Workflow("random", tuple(self.tasks), tuple(services), tuple(self.alternatives), {"x": 7})

    def task(self, name: str) -> Task:
        """Give the task of a name."""
        return next(task for task in self.tasks if task.name == name)


def _service(name: str, fate: Fate, calls: list[tuple[str, list[Any]]]) -> Service:
    def serve(*arguments: Any, **keywords: Any) -> Any:
        given = [*arguments, *keywords.values()]
        with _NOTING:
            calls.append((name, given))
            if cancelled():
                # It was slow to begin; what was called instead of it comes after it, even if noted before.
                calls.insert(0, calls.pop(max(at for at, one in enumerate(calls) if one[1] is given)))
        try:
            return behave(name, fate, given)
        except TooSlow:
            end = time.monotonic() + MAX_CALL_SECONDS
            while not cancelled() and time.monotonic() < end:
                time.sleep(0.001)
            return None

    policy = Policy(timeout=TIMEOUT_SECONDS) if fate.kind == "is slow" else Policy()
    return Service(name, function=serve, policy=policy)


class _Weaver:
    """Makes one scenario; every choice is drawn from hypothesis, so that failures shrink."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.made = Scenario()
        # Tasks whose outcome or whose place belongs to an alternative: each to one, or chance would decide between two.
        self.claimed: set[str] = set()
        # Earlier tasks, from which a task and its alternatives may take; none of them depends on what comes later.
        self.levels: dict[str, list[str]] = {}

    def chance(self, percent: int) -> bool:
        """Say yes so often."""
        return bool(self.draw(st.integers(1, 100)) > 100 - percent)

    def scenario(self, *, with_late: bool) -> Scenario:
        """Make a graph, then alternatives for some of its tasks, then alternatives of these."""
        graph: list[str] = []
        for number in range(self.draw(st.integers(2, 7))):
            self.task(f"T{number + 1}", list(graph))
            graph.append(f"T{number + 1}")
        for name in graph:
            if self.chance(45):
                self.alternative(name, depth=0)
        if with_late and self.chance(70):
            self.pair(graph)
        if with_late and self.chance(80):
            self.late()
        for task in self.made.tasks:
            if task.name not in self.made.fates:
                self.made.fates[task.name] = Fate("fails" if self.chance(4) else "answers")
        return self.made

    def task(self, name: str, earlier: list[str]) -> str:
        """Add a task that takes from some of the earlier ones."""
        slots = [self.argument(earlier) for _ in range(self.draw(st.integers(0 if not earlier else 1, 3)))]
        keywords = {}
        if slots and self.chance(15):
            keywords["key"] = slots.pop()
        after = (self.draw(st.sampled_from(earlier)),) if earlier and self.chance(10) else ()
        lists = [at for at, slot in enumerate(slots) if isinstance(slot, Result) and slot.item is None][:2]
        product = None
        if lists and self.chance(35):
            product = Each(self.draw(st.sampled_from(("dot", "cross"))), tuple(self.draw(st.permutations(lists))))
        self.made.tasks.append(Task(name, name, tuple(slots), keywords, product, after))
        self.levels[name] = earlier
        return name

    def argument(self, earlier: list[str]) -> Argument:
        """Take from an earlier task, from the input, or a constant."""
        # What a task with several calls gives may be empty or large: no items of it, and no calls for each of it.
        plain = [name for name in earlier if self.made.task(name).each is None]
        if not plain or self.chance(15):
            return self.draw(st.sampled_from((Input("x"), Value(1), Value("text"))))
        name = self.draw(st.sampled_from(plain))
        return Result(name, self.draw(st.sampled_from((None, None, None, 1, 2, 3))))

    def body(self, count: int, earlier: list[str]) -> list[str]:
        """Add a few tasks of an alternative; each may take from the ones before it."""
        names: list[str] = []
        for _ in range(count):
            names.append(self.task(f"E{len(self.made.tasks) + 1}", [*earlier, *names]))
        return names

    def alternative(self, name: str, depth: int) -> None:
        """Give a task an alternative that its own outcome calls for; perhaps with an alternative itself."""
        earlier = self.levels[name]
        first = self.body(self.draw(st.integers(0, 2)), earlier)
        exit_ = self.task(f"E{len(self.made.tasks) + 1}", [*earlier, *first])
        plain = self.made.task(name).each is None
        on, kind = self.draw(st.sampled_from(REASONS if plain else REASONS[:2]))
        chosen = kind if self.chance(60) else self.draw(st.sampled_from(("answers", "answers", "fails", "is bad")))
        self.add(Alternative(f"A{len(self.made.alternatives) + 1}", {name: exit_}, on=on), Fate(chosen), {name})
        if depth < 2 and self.chance(35):
            self.alternative(exit_, depth + 1)

    def add(self, alternative: Alternative, fate: Fate, watched: set[str]) -> None:
        """Add an alternative whose watched tasks have a fate."""
        when, predicate = None, None
        if "condition" in alternative.on:
            when, predicate = self.draw(st.sampled_from(((CONDITION, None), (None, is_bad))))
        made = Alternative(
            alternative.name, alternative.exits, alternative.also, alternative.on, when, predicate, alternative.watch
        )
        self.made.alternatives.append(made)
        self.claimed |= {*watched, *alternative.replaced}
        self.made.fates.update(dict.fromkeys(watched, fate))

    def sound(self, names: list[str]) -> None:
        """Let tasks answer: what stands in for a result that was there already must be there too.

        Otherwise it would depend on time what is left of what was made with the old one.
        """
        self.claimed |= set(names)
        self.made.fates.update({name: Fate() for name in names})

    def pair(self, graph: list[str]) -> None:
        """Let two tasks be replaced together by two, when one of them fails."""
        free = [name for name in graph if name not in self.claimed and self.made.task(name).each is None]
        if len(free) < 2:
            return
        one, other = free[0], free[self.draw(st.integers(1, len(free) - 1))]
        names = self.body(3, self.levels[one])
        failing = self.draw(st.sampled_from((one, other)))
        exits, also = {one: names[1], other: names[2]}, ()
        if {task.name for task in self.made.tasks if one in task.sources} == {other}:
            # Nobody else takes from it, so nobody misses it.
            exits, also = {other: names[2]}, (one,)
        self.made.is_late = True
        self.sound(names)
        alternative = Alternative(f"A{len(self.made.alternatives) + 1}", exits, also=also)
        self.add(alternative, Fate("fails"), {failing})

    def late(self) -> None:
        """Let a task dislike what comes from one further up, which is then replaced."""
        places = [
            (task.name, watcher)
            for task in self.made.tasks
            for watcher in sorted(self.downstream(task.name))
            if task.name not in self.claimed and watcher not in self.claimed and task.name.startswith("T")
            if self.made.task(watcher).each is None and self.made.task(task.name).each is None
        ]
        if not places:
            return
        name, watcher = self.draw(st.sampled_from(places))
        names = self.body(2, self.levels[name])
        on, kind = self.draw(st.sampled_from(((("failure",), "fails"), (("condition",), "is bad"))))
        self.made.is_late = True
        self.sound(names)
        self.add(
            Alternative(f"A{len(self.made.alternatives) + 1}", {name: names[-1]}, on=on, watch=(watcher,)),
            Fate(kind, disliked=name),
            {watcher},
        )

    def downstream(self, name: str) -> set[str]:
        """Give the tasks that depend on one."""
        found = {name}
        for _ in self.made.tasks:
            found |= {task.name for task in self.made.tasks if found & set(task.sources)}
        return found - {name}


REASONS = (
    (("failure",), "fails"),
    (("failure", "timeout"), "fails"),
    (("condition",), "is bad"),
    (("failure", "condition"), "is bad"),
    (("failure", "condition"), "fails"),
    (("timeout",), "is slow"),
)


@st.composite
def scenarios(draw: Callable[[st.SearchStrategy[Any]], Any], *, with_late: bool = False) -> Scenario:
    """Give a random workflow and what happens to its tasks."""
    return _Weaver(draw).scenario(with_late=with_late)
