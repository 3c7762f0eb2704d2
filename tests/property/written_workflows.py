"""Strategies that make workflows for writing: whatever the model can hold that a file can say, sensible or not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from solvent.workflows.formats.yaml.reader import BESIDE_JOIN, JOINS
from solvent.workflows.model import (
    REQUIRED,
    Alternative,
    Argument,
    Arrived,
    Control,
    Each,
    Input,
    Many,
    Policy,
    Result,
    Route,
    Service,
    Signalled,
    Task,
    Test,
    Value,
    Workflow,
)

_texts = st.text(st.characters(codec="utf-8"), max_size=5)
_awkward = ["on", "no", "null", "in", "one", "SRC", "DOT", "INPUT", "1", "$x", "from", "T 1", "é", "a:b", "<<", "NAME",
            "TRANSIENT", "ALL", "ANY", "CANCEL", "THREADS", "LOCKS", "ARRIVED", "PREDICATE", "NULL"]  # fmt: skip
# Mostly plain names, some that a format must quote: keywords, reserved symbols, signs, other scripts.
names = st.one_of(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,3}", fullmatch=True), st.sampled_from(_awkward), _texts.filter(bool)
)
_floats = st.floats(allow_nan=False, allow_infinity=False)
_keys = names | st.sampled_from(["from", "input", "value", "default", "arrived", "signal"])
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
    max_backoff=st.floats(0, 100),
    concurrency=st.none() | st.integers(1, 9),
    rate=_seconds,
    heartbeat=_seconds,
    max_lost=st.integers(0, 20),
)
_conditions = st.sampled_from(
    [
        "result < 0.9",
        "result<1",
        "result < 1 || result > 3",
        "length(result) == 0",
        "nonsense (",
        "!result",
        "result",
        "true",
        '"text"',
        "T1",
        "(1, 2)",
        "(FAILED in result) && 1 < result",
    ]
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


_counts = st.integers(1, 3)
_tests = st.builds(Test, _conditions) | st.builds(Test, st.none() | _conditions, st.just("module:predicate"))


def some_of(known: st.SearchStrategy[str], size: int = 2) -> st.SearchStrategy[tuple[str, ...]]:
    """Make so many names or fewer."""
    return st.just(()) | st.lists(known, max_size=size).map(tuple)


@st.composite
def instances(draw: st.DrawFn, argument: st.SearchStrategy[Argument]) -> Many:
    """Make several instances: so many, or one for each item of an argument."""
    is_counted = draw(st.booleans())
    return Many(
        count=draw(st.builds(Value, _counts) | argument.filter(lambda one: not isinstance(one, Value)))
        if is_counted
        else None,
        over=None if is_counted else draw(st.integers(0, 3)),
        need=draw(st.none() | _counts),
        apart=draw(st.booleans()),
        cancels=draw(st.booleans()),
        more=draw(st.none() | _tests),
        enough=draw(st.none() | _tests),
    )


@st.composite
def controls(draw: st.DrawFn, argument: st.SearchStrategy[Argument], patterns: list[str]) -> Control | None:
    """Make what a task does besides calling its service: a few things of all that it could."""
    join = draw(st.sampled_from(["all", "any", "first", "active", *patterns]))
    signal = draw(st.none() | names)
    # Each with its usual value or another: most tasks do a few of these things, a few do many.
    made = Control(
        join=join,
        need=1 if join in ("all", "any", "active") else draw(_counts),
        cancels_rest=join == "first" and draw(st.booleans()),
        threads=draw(st.just(1) | _counts),
        split=draw(st.sampled_from(["all", "one", "some", "deferred"])),
        routes=tuple(draw(st.just([]) | st.lists(st.builds(Route, names, st.none() | _tests), max_size=3))),
        again=draw(st.none() | st.builds(Route, names, st.none() | _tests)),
        copies=draw(st.just(1) | _counts),
        takes=draw(some_of(st.sampled_from(["L", "M", "1"]))),
        gives=draw(some_of(st.sampled_from(["L", "M", "1"]))),
        signal=signal,
        is_transient=signal is not None and draw(st.booleans()),
        sends=draw(some_of(names)),
        during=draw(st.none() | st.tuples(names, names)),
        cancels=draw(some_of(names)),
        completes=draw(some_of(names)),
        ends=draw(st.sampled_from(["", "", "case", "cancelled"])),
        many=draw(st.none() | instances(argument)),
    )
    # To say only what is usual is to say nothing.
    return None if made == Control() else made


@st.composite
def tasks(draw: st.DrawFn, name: str, earlier: list[str], inputs: list[str], patterns: list[str] | None = None) -> Task:
    """Make a task of a name that takes from earlier ones and from inputs; with control flow if there are patterns."""
    kinds: list[st.SearchStrategy[Argument]] = [st.builds(Value, values)]
    if earlier:
        item = st.none() | st.integers(1, 4)
        kinds += [st.builds(Result, st.sampled_from(earlier), item)] * 2
    if inputs:
        kinds.append(st.builds(Input, st.sampled_from(inputs)))
    if patterns is not None:
        kinds += [st.builds(Arrived, st.sampled_from(["one", "all"])), st.just(Signalled())]
    argument = st.one_of(kinds)
    arguments = tuple(draw(st.lists(argument, max_size=4)))
    keywords = draw(st.dictionaries(names, argument, max_size=2))
    after = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)) if earlier else []
    each = draw(each_over(len(arguments) + len(keywords)))
    control = None if patterns is None else draw(st.none() | controls(argument, patterns))
    return Task(name, draw(names), arguments, keywords, each, tuple(after), control)


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
def workflows(draw: st.DrawFn, *, is_controlled: bool = False) -> Workflow:
    """Make a workflow without cycles, with alternatives, and with control flow if that is asked."""
    inputs = draw(st.dictionaries(names, values | st.just(REQUIRED), max_size=2))
    patterns = draw(st.dictionaries(names.filter(_is_no_join), names, max_size=2)) if is_controlled else {}
    made: list[Task] = []
    for name in draw(st.lists(names, max_size=6, unique=True)):
        earlier = [task.name for task in made]
        made.append(draw(tasks(name, earlier, list(inputs), list(patterns) if is_controlled else None)))
    known = [task.name for task in made]
    others = draw(st.lists(names, max_size=2, unique=True)) if known else []
    return Workflow(
        draw(names),
        tuple(made),
        tuple(draw(services(name)) for name in draw(st.lists(names, max_size=3, unique=True))),
        tuple(draw(alternatives(name, known)) for name in others),
        inputs,
        draw(st.lists(st.sampled_from(known), max_size=2, unique=True).map(tuple)) if known else (),
        draw(st.dictionaries(names, _counts, max_size=2)) if is_controlled else {},
        patterns,
        returns=draw(st.sampled_from(["", "list", "tuple", "nothing"])),
        deadline=draw(st.none() | st.floats(min_value=0.5, max_value=1e8)),
    )


def _is_no_join(name: str) -> bool:
    """Say whether a library may have a name: the words of `join` mean something else."""
    return name not in (*JOINS, *BESIDE_JOIN)
