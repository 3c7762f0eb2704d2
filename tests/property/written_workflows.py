"""Strategies that make workflows for writing: whatever the model can hold that a file can say, sensible or not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from solvent.workflow.model import (
    REQUIRED,
    Alternative,
    Argument,
    Each,
    Input,
    Policy,
    Result,
    Service,
    Task,
    Value,
    Workflow,
)

_texts = st.text(st.characters(codec="utf-8"), max_size=5)
_awkward = ["on", "no", "null", "in", "one", "SRC", "DOT", "INPUT", "1", "$x", "from", "T 1", "é", "a:b", "<<", "NAME"]
# Mostly plain names, some that a format must quote: keywords, reserved symbols, signs, other scripts.
names = st.one_of(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,3}", fullmatch=True), st.sampled_from(_awkward), _texts.filter(bool)
)
_floats = st.floats(allow_nan=False, allow_infinity=False)
_keys = names | st.sampled_from(["from", "input", "value", "default"])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), _floats, _texts, names),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=2),
    max_leaves=5,
)
_seconds = st.none() | st.floats(min_value=0.001, max_value=1e6)
policies = st.builds(
    Policy,
    timeout=_seconds,
    retries=st.integers(0, 5),
    backoff=st.floats(0, 10),
    backoff_max=st.floats(0, 100),
    concurrency=st.none() | st.integers(1, 9),
    rate=_seconds,
    heartbeat=_seconds,
)
_conditions = st.sampled_from(
    ["result < 0.9", "result<1", "result < 1 || result > 3", "length(result) == 0", "nonsense ("]
)
_causes = st.lists(st.sampled_from(["failure", "timeout", "condition"]), min_size=1, max_size=3, unique=True).map(tuple)
_ways = st.sampled_from(["dot", "cross"])


def each_over(count: int) -> st.SearchStrategy[Each | None]:
    """Make compositions over so many arguments, or a few more."""
    over: st.SearchStrategy[Any] = st.recursive(
        st.integers(0, max(1, count)),
        lambda inner: st.builds(Each, _ways, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        max_leaves=4,
    )
    return st.none() | st.builds(Each, _ways, st.lists(over, max_size=3).map(tuple))


@st.composite
def services(draw: st.DrawFn, name: str) -> Service:
    """Make a service of a name."""
    return Service(
        name,
        draw(st.sampled_from(["python", "shell", "http", "hocl", "workflow", "replay"])),
        draw(st.just("") | names),
        draw(st.sampled_from(["POST", "GET"])),
        draw(st.just({}) | st.dictionaries(names, values, max_size=2) | st.just({"seconds": 1.5})),
        draw(policies),
    )


@st.composite
def tasks(draw: st.DrawFn, name: str, earlier: list[str], inputs: list[str]) -> Task:
    """Make a task of a name that takes from earlier ones and from inputs."""
    kinds: list[st.SearchStrategy[Argument]] = [st.builds(Value, values)]
    if earlier:
        item = st.none() | st.integers(1, 4)
        kinds += [st.builds(Result, st.sampled_from(earlier), item)] * 2
    if inputs:
        kinds.append(st.builds(Input, st.sampled_from(inputs)))
    arguments = tuple(draw(st.lists(st.one_of(kinds), max_size=4)))
    keywords = draw(st.dictionaries(names, st.one_of(kinds), max_size=2))
    after = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)) if earlier else []
    each = draw(each_over(len(arguments) + len(keywords)))
    return Task(name, draw(names), arguments, keywords, each, tuple(after))


@st.composite
def alternatives(draw: st.DrawFn, name: str, known: list[str]) -> Alternative:
    """Make an alternative of a name."""
    some = st.lists(st.sampled_from(known), max_size=2, unique=True).map(tuple)
    exits = draw(st.dictionaries(st.sampled_from(known), st.sampled_from(known), min_size=1, max_size=2))
    also, watch = draw(some), draw(some)
    replaced = tuple(dict.fromkeys([*exits, *also]))
    return Alternative(
        name,
        exits,
        also,
        draw(_causes),
        draw(st.none() | _conditions),
        draw(st.none() | st.just("module:predicate")),
        # To name all that it replaces says the same as to name nothing, and HOCLflow does not tell the two apart.
        () if watch == replaced else watch,
    )


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    """Make a workflow without cycles, with alternatives."""
    inputs = draw(st.dictionaries(names, values | st.just(REQUIRED), max_size=2))
    made: list[Task] = []
    for name in draw(st.lists(names, max_size=6, unique=True)):
        made.append(draw(tasks(name, [task.name for task in made], list(inputs))))
    known = [task.name for task in made]
    others = draw(st.lists(names, max_size=2, unique=True)) if known else []
    return Workflow(
        draw(names),
        tuple(made),
        tuple(draw(services(name)) for name in draw(st.lists(names, max_size=3, unique=True))),
        tuple(draw(alternatives(name, known)) for name in others),
        inputs,
        draw(st.lists(st.sampled_from(known), max_size=2, unique=True).map(tuple)) if known else (),
    )
