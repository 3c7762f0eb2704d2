"""What a task does besides calling its service, in short words: the same in every picture.

The words are those of workflow files, so that what is seen can be looked up: `▽` stands before the way in, `△` before
the ways out, `↺` before a way back, `✗` before what is cancelled, `■` before an end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from solvent.pictures.lettering import cut
from solvent.pictures.text import LETTERS_MAX
from solvent.workflow.slots import Input, Result, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.workflow.control import Control, Many, Test
    from solvent.workflow.slots import Argument, Claim

_CONDITION_MAX = 26


class Marks(msgspec.Struct, frozen=True):
    """The marks of one task."""

    join: str = ""
    """What starts it."""
    times: str = ""
    """How many instances it has; stands beside its name."""
    notes: tuple[str, ...] = ()
    """What it waits for, holds, sends and ends; whom it cancels is told by arrows."""
    split: str = ""
    """Whom it passes its result to."""


NO_MARKS = Marks()


def marks_of(control: Control | None, sources_count: int, locks: Mapping[str, int]) -> Marks:
    """Give the marks of a task."""
    if control is None:
        return NO_MARKS
    many = control.many
    notes = [] if many is None else _instances(many)
    if control.signal is not None:
        notes.append(f"waits for {control.signal}{', not kept' if control.is_transient else ''}")
    notes += _locks(control, locks)
    if control.during is not None:
        notes.append(f"only between {control.during[0]} and {control.during[1]}")
    if control.sends:
        notes.append(f"sends {', '.join(control.sends)}")
    if control.completes:
        notes.append(f"completes {', '.join(control.completes)}")
    if control.ends:
        notes.append("■ ends the case" if control.ends == "case" else "■ cancels the case")
    return Marks(
        join=_join(control, sources_count),
        times="" if many is None else _times(many),
        notes=tuple(cut(note, LETTERS_MAX) for note in notes),
        split=_split(control),
    )


def claimed(marks: Marks, claims: Sequence[Claim]) -> Marks:
    """Add the resources that a task has while it runs."""
    does = {
        "writes": [one for one in claims if one.mode == "write"],
        "reads": [one for one in claims if one.mode == "read"],
    }
    notes = [f"{word} {', '.join(map(_stretch, found))}" for word, found in does.items() if found]
    return msgspec.structs.replace(marks, notes=(*(cut(note, LETTERS_MAX) for note in notes), *marks.notes))


def _stretch(claim: Claim) -> str:
    if claim.is_whole:
        return claim.resource
    return f"{claim.resource}[{claim.offset}:{'' if claim.length is None else claim.offset + claim.length}]"


def _join(control: Control, sources_count: int) -> str:
    words = [] if control.join == "all" else [control.join]
    if control.join == "first":
        words = [f"first {control.need} of {sources_count}" if sources_count else "first"]
        words += ["cancels rest"] if control.cancels_rest else []
    elif words and control.need > 1:
        words = [f"{control.join} {control.need}"]
    if control.threads > 1:
        words.append(f"{control.threads} threads")
    return cut(f"▽ {', '.join(words)}", LETTERS_MAX) if words else ""


def _split(control: Control) -> str:
    words: list[str] = [] if control.split == "all" else [control.split]
    if control.copies > 1:
        words.append(f"{control.copies} threads")
    return f"△ {', '.join(words)}" if words else ""


def _times(many: Many) -> str:
    return "× each" if many.count is None else cut(f"×{_counted(many.count)}", 12)


def _counted(count: Argument) -> str:
    if isinstance(count, Value):
        return str(count.value)
    return f" {count.name}" if isinstance(count, Input) else f" {count.task}" if isinstance(count, Result) else " n"


def _instances(many: Many) -> list[str]:
    notes = []
    if many.need is not None:
        notes.append(f"{many.need} {'is' if many.need == 1 else 'are'} enough")
    if many.enough is not None:
        notes.append(f"enough if {condition(many.enough)}")
    if many.cancels:
        notes.append("cancels rest")
    if many.apart:
        notes.append("each goes on by itself")
    if many.more is not None:
        notes.append(f"one more if {condition(many.more)}")
    return notes


def _locks(control: Control, locks: Mapping[str, int]) -> list[str]:
    def told(names: Sequence[str]) -> str:
        return ", ".join(f"{name} ({locks[name]})" if locks.get(name, 1) > 1 else name for name in names)

    found = {
        "lock": [name for name in control.takes if name in control.gives],
        "takes": [name for name in control.takes if name not in control.gives],
        "gives back": [name for name in control.gives if name not in control.takes],
    }
    return [f"{word} {told(names)}" for word, names in found.items() if names]


# ------------------------------------------------------------------------------------------------- conditions


def ways_of(control: Control, destinations: Sequence[str]) -> dict[str, str]:
    """Give the condition of each way onwards or back that has one, by the task it leads to."""
    found: dict[str, list[str]] = {}
    if control.again is not None:
        test = control.again.test
        found[control.again.task] = ["again" if test is None else f"while {condition(test)}"]
    if any(route.test is not None for route in control.routes):
        for route in control.routes:
            found.setdefault(route.task, []).append(condition(route.test))
        if control.split in ("one", "some"):
            for name in destinations:
                found.setdefault(name, ["otherwise"])
    return {name: cut(" or ".join(words), _CONDITION_MAX) for name, words in found.items()}


def condition(test: Test | None) -> str:
    """Put a condition into a few letters."""
    if test is None:
        return "otherwise"
    if test.when is not None:
        return cut(" ".join(test.when.split()), _CONDITION_MAX)
    return cut(predicate(test.predicate), _CONDITION_MAX)


def predicate(function: object, default: str = "its function says so") -> str:
    """Write a Python function of a result as a call, if it has a name."""
    name = function.rpartition(":")[2] if isinstance(function, str) else getattr(function, "__name__", "")
    return f"{name}(result)" if name.isidentifier() else default


__all__ = ["NO_MARKS", "Marks", "claimed", "condition", "marks_of", "predicate", "ways_of"]
