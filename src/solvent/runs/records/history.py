"""What has happened in a run, read from its journal: for people who ask, also while it goes on."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from solvent.runs.records.entries import Answered, Called, Ended, Opened, Retried, Signalled
from solvent.runs.records.journal import read_journal
from solvent.runs.records.runs import log_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from solvent.runs.records import entries
    from solvent.runs.records.cards import RunCard
    from solvent.store import Store

AT_PLACE = " at place "
"""Stands between the name of an agent and its place, where several journals are told as one."""


class Happening(NamedTuple):
    """Something that has happened: `opened`, `called`, `retried`, `done`, `failed`, `cancelled`, `signal`, `ended`."""

    at: float
    kind: str
    #: The call, the signal, or who opened it.
    what: str
    task: str = ""
    text: str = ""
    attempts: int = 0
    #: Of a call: whether it had been made before; of who opens a journal: whether another had it before.
    is_again: bool = False


def history(store: Store, card: RunCard) -> Iterator[Happening]:
    """Tell what has happened in a run."""
    yield from happenings((entry for _, entry in read_journal(store, log_of(card.run))), frozenset(card.tasks))


def happenings(noted: Iterable[entries.Any], tasks: frozenset[str]) -> Iterator[Happening]:
    """Tell what the entries of journals say."""
    begun: Counter[str] = Counter()
    opened = set[str]()
    for entry in noted:
        match entry:
            case Opened():
                place = entry.agent.partition(AT_PLACE)[2]
                yield Happening(entry.at, "opened", entry.agent, is_again=place in opened)
                opened.add(place)
            case Called():
                begun[entry.key] += 1
                yield Happening(entry.at, "called", entry.key, task_of(entry.key, tasks), is_again=begun[entry.key] > 1)
            case Retried():
                yield Happening(entry.at, "retried", entry.key, task_of(entry.key, tasks))
            case Answered():
                yield _answer(entry, task_of(entry.key, tasks))
            case Signalled():
                yield Happening(entry.at, "signal", entry.name)
            case Ended():
                yield Happening(entry.at, "ended", entry.state)


def called_again(store: Store, card: RunCard) -> dict[str, int]:
    """Count the calls of each task that were made again, since who had made them before was gone."""
    return dict(Counter(one.task for one in history(store, card) if one.is_again and one.task))


def _answer(entry: Answered, task: str) -> Happening:
    failure = entry.failure
    if failure is None:
        text = "its answer is no data, and was not kept" if entry.is_unkept else ""
        return Happening(entry.at, "done", entry.key, task, text, entry.attempts)
    kind = "cancelled" if failure.kind == "CANCELLED" else "failed"
    said = failure.text if failure.kind in {"FAILED", "CANCELLED"} else f"{failure.kind}: {failure.text}"
    return Happening(entry.at, kind, entry.key, task, said, entry.attempts)


def states_of(store: Store, card: RunCard, *, is_alive: bool) -> dict[str, str]:
    """Say how the tasks of a run are that has not ended, as far as its calls tell."""
    states = dict.fromkeys(card.tasks, "waiting")
    out: dict[str, set[str]] = {}
    for one in history(store, card):
        if one.kind == "called":
            out.setdefault(one.task, set()).add(one.what)
            states[one.task] = "running" if is_alive else "interrupted"
        elif one.kind in {"done", "failed", "cancelled"}:
            calls = out.setdefault(one.task, set())
            calls.discard(one.what)
            if one.kind == "failed" or not calls:
                states[one.task] = one.kind
    return states


def task_of(key: str, tasks: Collection[str]) -> str:
    """Give the task of a call: `name`, `name[3]` for one of several, `name#2` for the second."""
    if key in tasks:
        return key
    for pattern in (r"#\d+", r"\[\d+\]", r"\[\d+\]#\d+"):
        name = re.sub(pattern + r"\Z", "", key)
        if name in tasks:
            return name
    return key


__all__ = ["AT_PLACE", "Happening", "happenings", "history", "states_of", "task_of"]
