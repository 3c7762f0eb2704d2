"""Workflows whose tasks join, split, wait and cancel go into HOCLflow and come back the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given, note
from hypothesis import strategies as st

from solvent.source import Source
from solvent.workflows.formats.hoclflow import read, write
from solvent.workflows.model import Arrived, Control, Input, Many, Result, Route, Signalled, Task, Test, Value, Workflow
from tests.property.amounts import examples
from tests.property.written_workflows import names, workflows

if TYPE_CHECKING:
    from solvent.workflows.model import Argument

_awkward = st.sampled_from(["TRANSIENT", "ALL", "ANY", "CANCEL", "THREADS", "LOCKS", "ARRIVED", "PREDICATE", "NULL"])
_names = names | _awkward
_some = st.lists(_names, max_size=2).map(tuple)
_counts = st.integers(1, 4)
_conditions = st.sampled_from(
    ["result > 3", "result>3", "length(result) == 0", "!result", "result", "true", '"text"', "T1", "(1, 2)", "no ("]
)
_predicates = st.none() | st.just("module:function")
_tests = st.builds(Test, st.none() | _conditions, _predicates)
_routes = st.builds(Route, _names, st.none() | _tests)
_arguments: st.SearchStrategy[Argument] = st.one_of(
    st.builds(Arrived, st.sampled_from(["one", "all"])),
    st.builds(Signalled),
    st.builds(Value, st.integers(0, 9)),
    st.builds(Input, _names),
    st.builds(Result, _names),
)
_many = st.builds(
    Many,
    count=st.none() | _arguments,
    over=st.none() | st.integers(0, 3),
    need=st.none() | _counts,
    apart=st.booleans(),
    cancels=st.booleans(),
    more=st.none() | _tests,
    enough=st.none() | _tests,
)


def _texts(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


controls = st.builds(
    Control,
    join=_texts("all any first active majority ALL Any"),
    need=_counts,
    cancels_rest=st.booleans(),
    threads=_counts,
    split=_texts("all one some deferred"),
    routes=st.lists(_routes, max_size=3).map(tuple),
    again=st.none() | _routes,
    copies=_counts,
    takes=_some,
    gives=_some,
    signal=st.none() | _names,
    is_transient=st.booleans(),
    sends=_some,
    during=st.none() | st.tuples(_names, _names),
    cancels=_some,
    completes=_some,
    ends=st.sampled_from(["", "case", "cancelled"]),
    many=st.none() | _many,
)
# Alone, each word must be enough to tell that there is a control at all.
_one_word = st.sampled_from([
    {"join": "any"}, {"need": 2}, {"cancels_rest": True}, {"threads": 3}, {"split": "one"}, {"routes": (Route("T"),)},
    {"again": Route("T")}, {"copies": 2}, {"takes": ("l",)}, {"gives": ("l",)}, {"takes": ("l",), "gives": ("l",)},
    {"signal": "go"}, {"is_transient": True}, {"sends": ("go",)}, {"during": ("A", "B")}, {"cancels": ("A",)},
    {"completes": ("A",)}, {"ends": "case"}, {"many": Many()}, {},
]).map(lambda given: Control(**given))  # fmt: skip


@st.composite
def controlled_workflows(draw: st.DrawFn) -> Workflow:
    """Make a workflow some of whose tasks have a control."""
    plain = draw(workflows())
    made: list[Task] = []
    for task in plain.tasks:
        new: list[Any] = draw(st.lists(_arguments.filter(lambda one: not isinstance(one, Result)), max_size=2))
        control = draw(st.none() | controls | _one_word)
        made.append(msgspec.structs.replace(task, arguments=(*task.arguments, *new), control=control))
    return msgspec.structs.replace(
        plain,
        tasks=tuple(made),
        locks=draw(st.dictionaries(_names, st.integers(1, 5), max_size=2)),
        patterns=draw(st.dictionaries(_names, _names, max_size=2)),
    )


@examples(40)
@given(controlled_workflows())
def test_writing_then_reading_is_identity(workflow: Workflow) -> None:
    """A workflow with controls, written in HOCLflow, reads back as itself."""
    text = write(workflow)
    note(text)
    # Python holds `1 == 1.0 == True`, so what is shown is compared.
    assert repr(read(Source(text, "w.hocl")).workflow) == repr(workflow)
