"""Every word for control flow becomes the model that is written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent import (
    active_of,
    all_threads,
    any_of,
    attempt,
    cancels,
    choose,
    choose_some,
    completes,
    deferred,
    ends,
    first_of,
    joined_by,
    locked,
    milestone,
    repeat,
    section,
    sends,
    service,
    signal_value,
    threads,
    waits_for,
    workflow,
)
from solvent.errors import WorkflowProblem
from solvent.workflows.model import Arrived, Control, Input, Many, Result, Route, Signalled, Task, Test, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.workflows.model import Workflow


@service
def do(*values: Any) -> Any:
    return values


a, b, c, d = (do.named(name) for name in "abcd")


def _made(body: Callable[[Any], Any]) -> Workflow:
    return workflow(name="flow", patterns={"majority": "majority.hocl"})(body).definition()


def _task(name: str, *arguments: Any, after: tuple[str, ...] = (), control: Control | None = None) -> Task:
    return Task(name, "do", arguments, after=after, control=control)


# ------------------------------------------------------------------------------------------------- joins

JOINS: dict[str, tuple[Callable[[Any, Any, Any], Any], Control, Arrived]] = {
    "any_of": (any_of, Control(join="any"), Arrived("one")),
    "first_of": (first_of, Control(join="first"), Arrived("one")),
    "first two": (lambda *x: first_of(*x, need=2), Control(join="first", need=2), Arrived("all")),
    "cancelling": (lambda *x: first_of(*x, cancel=True), Control(join="first", cancels_rest=True), Arrived("one")),
    "active_of": (active_of, Control(join="active"), Arrived("all")),
    "joined_by": (
        lambda *x: joined_by("majority", *x, need=2),
        Control(join="majority", need=2),
        Arrived("all"),
    ),
}


@pytest.mark.parametrize("word", JOINS)
def test_a_call_takes_what_starts_it(word: str) -> None:
    """A join is an argument: the call waits for its steps in that way and takes what arrived."""
    join, control, arrived = JOINS[word]
    made = _made(lambda x: d(join(a(x), b(x), c(x)), 3))
    assert made.task("d") == _task("d", arrived, Value(3), after=("a", "b", "c"), control=control)
    assert made.tasks[0] == _task("a", Input("x"))


def test_a_call_joins_without_taking_anything() -> None:
    """A join stands in `after` too, and beside arguments that come from its own steps."""
    made = _made(lambda x: d.after(any_of(a(x), b(x)))(3))
    assert made.task("d") == _task("d", Value(3), after=("a", "b"), control=Control(join="any"))
    made = _made(lambda x: d.after(active_of(one := a(x), two := b(x)))(one, two[0]))
    control = Control(join="active")
    assert made.task("d") == _task("d", Result("a"), Result("b", 1), after=("a", "b"), control=control)


def test_a_join_is_handed_on_like_a_step() -> None:
    """Items, lists and results of a join are tasks of their own; the same join may be taken twice."""
    made = _made(lambda x: any_of(a(x), b(x)[0]))
    assert made.tasks[2:] == (
        Task("value", "value", (Result("b", 1),)),
        Task("value_2", "value", (Arrived("one"),), after=("a", "value"), control=Control(join="any")),
    )
    assert made.results == ("value_2",)
    made = _made(lambda x: d(any_of(one := a(x), two := b(x)), any_of(one, two)))
    assert made.task("d").arguments == (Arrived("one"), Arrived("one"))
    made = _made(lambda x: d(active_of(a(x), b(x))[0]))
    assert made.tasks[2] == Task(
        "item", "item", (Arrived("all"), Value(0)), after=("a", "b"), control=Control(join="active")
    )


def test_threads_split_and_merge() -> None:
    """A step passes its result on several times, and a call waits for several results of one step."""
    made = _made(lambda x: c(all_threads(b(threads(a(x), 3)), 3)))
    assert made.tasks == (
        _task("a", Input("x"), control=Control(copies=3)),
        _task("b", Result("a")),
        _task("c", Arrived("all"), after=("b",), control=Control(threads=3)),
    )


# ---------------------------------------------------------------------------------------- splits and loops


def _is_small(value: Any) -> bool:
    return bool(value < 3)


@pytest.mark.parametrize("word,split", [(choose, "one"), (choose_some, "some")])
def test_a_choice(word: Any, split: Any) -> None:
    """A choice names conditions and steps in order; a step that does not wait yet for the chooser does then."""

    def body(x: Any) -> Any:
        first = a(x)
        found = word(first, ("result > 9", b(first)), (_is_small, c(0)), otherwise=d.after(first)(1))
        assert found is first

    routes = (
        Route("b", Test(when="result > 9")),
        Route("c", Test(predicate=_is_small)),
        Route("d"),
    )
    assert _made(body).tasks == (
        _task("a", Input("x"), control=Control(split=split, routes=routes)),
        _task("b", Result("a")),
        _task("c", Value(0), after=("a",)),
        _task("d", Value(1), after=("a",)),
    )


def test_a_deferred_choice() -> None:
    """A result is offered to several steps."""
    made = _made(lambda x: deferred(first := a(x), b(first), c(0)))
    assert made.task("a").control == Control(split="deferred", routes=(Route("b"), Route("c")))
    assert made.task("c") == _task("c", Value(0), after=("a",))


def test_a_loop() -> None:
    """A way back makes the first step one that is started by either; it takes whatever arrived."""

    def body(x: Any) -> Any:
        first = b(a(x), 3)
        return d(repeat(c(first), back_to=first, when="result < 3"))

    assert _made(body).tasks == (
        _task("a", Input("x")),
        _task("b", Arrived("one"), Value(3), after=("a",), control=Control(join="any")),
        _task("c", Result("b"), control=Control(again=Route("b", Test(when="result < 3")))),
        _task("d", Result("c")),
    )


def test_a_loop_to_the_beginning_and_to_itself() -> None:
    """A step that takes only inputs takes them again; a step may go back to itself."""
    made = _made(lambda x: repeat(first := a(x), back_to=first, when=_is_small))
    control = Control(join="any", again=Route("a", Test(predicate=_is_small)))
    assert made.tasks == (_task("a", Input("x"), control=control),)


def test_a_choice_may_lead_back() -> None:
    """A route to an earlier step is a way back: cycles of any form are choices."""

    def body(x: Any) -> Any:
        first = a(x)
        second = b(first)
        choose(second, ("result = 1", first), ("result = 2", second), otherwise=c(second))

    made = _made(body)
    assert made.task("a") == _task("a", Input("x"), control=Control(join="any"))
    assert made.task("b").arguments == (Arrived("one"),)
    assert made.task("b").control == Control(
        join="any",
        split="one",
        routes=(Route("a", Test(when="result = 1")), Route("b", Test(when="result = 2")), Route("c")),
    )


# -------------------------------------------------------------------------- locks, signals, ends, instances


def test_locks() -> None:
    """A step holds locks while it works, or from one step to another; the workflow says how many may."""

    @workflow(locks={"tape": 2})
    def body(x: Any) -> Any:
        first = locked(a(x), "tape", "printer")
        return section("room", first, b(first))

    made = body.definition()
    assert made.locks == {"tape": 2}
    assert made.task("a").control == Control(takes=("tape", "printer", "room"), gives=("tape", "printer"))
    assert made.task("b").control == Control(gives=("room",))


def test_signals() -> None:
    """A step waits for a signal, with or without taking what comes with it, and another sends it."""

    def body(x: Any) -> Any:
        waits_for(sends(a(x), "go", "on"), "start", transient=True)
        waits_for(b(signal_value("go"), 3), "go")
        c(any_of(d(1), do(2)), signal_value("on"))

    made = _made(body)
    assert made.task("a").control == Control(signal="start", is_transient=True, sends=("go", "on"))
    assert made.task("b") == _task("b", Signalled(), Value(3), control=Control(signal="go"))
    assert made.task("c") == _task(
        "c", Arrived("one"), Signalled(), after=("d", "do"), control=Control(join="any", signal="on")
    )


def test_milestones_cancellation_and_ends() -> None:
    """These name other steps, which they do not wait for."""

    def body(x: Any) -> Any:
        one, two = a(x), b(x)
        milestone(c(x), after=one, before=two)
        ends(cancels(cancels(d(x), one), two, one))
        ends(do(x), cancelled=True)

    made = _made(body)
    assert made.task("c") == _task("c", Input("x"), control=Control(during=("a", "b")))
    assert made.task("d") == _task("d", Input("x"), control=Control(cancels=("a", "b"), ends="case"))
    assert made.task("do").control == Control(ends="cancelled")


def test_several_instances() -> None:
    """A service is called so often, or once for each item; how many results are waited for may be said."""

    def body(x: Any) -> Any:
        a.many(3)(x)
        b.many(count=do(x), need=2, cancel=True)(x)
        c.many(over=1, more="result = 0", enough=_is_small)(x, [1, 2])
        d.many(over=0, apart=True)(x)

    made = _made(body)
    assert made.task("a") == _task("a", Input("x"), control=Control(many=Many(Value(3))))
    many = Many(Result("do"), need=2, cancels=True)
    assert made.task("b") == _task("b", Input("x"), after=("do",), control=Control(many=many))
    many = Many(over=1, more=Test(when="result = 0"), enough=Test(predicate=_is_small))
    assert made.task("c") == _task("c", Input("x"), Value([1, 2]), control=Control(many=many))
    assert made.task("d").control == Control(many=Many(over=0, apart=True))


def test_instances_may_be_completed() -> None:
    """A step lets several instances go on with what they have."""
    made = _made(lambda x: completes(a(x), b.many(over=0)(x)))
    assert made.task("a").control == Control(completes=("b",))


def test_a_workflow_calls_itself() -> None:
    """Where something decides whether it does, a workflow is a service of its own."""

    @workflow
    def shrink(x: Any) -> Any:
        first = a(x)
        again, done = shrink.named("again")(first), b(first)
        choose(first, ("result > 0", again), otherwise=done)
        return any_of(again, done)

    made = shrink.definition()
    own = made.service("shrink")
    assert own is not None
    assert (own.kind, own.function) == ("workflow", shrink)
    assert made.task("again") == Task("again", "shrink", keywords={"x": Result("a")})


def test_workflows_call_each_other() -> None:
    """It is enough that one of them decides."""

    @workflow
    def outer(x: Any) -> Any:
        return attempt(middle(x), otherwise=0)

    @workflow
    def middle(x: Any) -> Any:
        return outer(x)

    inner = outer.definition().service("middle")
    assert inner is not None
    assert inner.function.service("outer").function is outer


# --------------------------------------------------------------------------------------------------- misuse

WRONG_CALLS: dict[str, Callable[[Any], Any]] = {
    "two joins": lambda x: d(any_of(one := a(x), two := b(x)), active_of(one, two)),
    "two of one kind": lambda x: d(any_of(one := a(x), b(x)), any_of(one, c(x))),
    "two signals": lambda _: d(signal_value("go"), signal_value("on")),
    "another step": lambda x: d(any_of(a(x), b(x)), c(x)),
    "another step in after": lambda x: d.after(any_of(a(x), b(x)), c(x))(),
    "no steps": lambda _: d(any_of()),
    "no library": lambda x: d(joined_by("minority", a(x), b(x))),
    "many of nothing": lambda _: a.many(),  # type: ignore[call-overload]
    "many twice": lambda _: a.many(3, over=0),  # type: ignore[call-overload]
    "apart and waiting": lambda _: a.many(3, apart=True, need=2),  # type: ignore[call-overload]
    "over no argument": lambda x: b(a.many(over=1)(x)),
    "over no list": lambda _: a.many(over=0)(3),  # type: ignore[arg-type]
    "over and each": lambda x: a.many(over=0).each(x),
    "count of a join": lambda x: a.many(any_of(b(x), c(x)))(x),
    "stand-ins first": lambda _: a.otherwise(b).many(2),
    "taken name": lambda _: workflow(patterns={"any": "x.hocl"}),
    "no permit": lambda _: workflow(locks={"tape": 0}),
}
WRONG_WORDS: dict[str, Callable[[Any], Any]] = {
    "join of an input": lambda x: d(any_of(x, a(x))),
    "join of a join": lambda x: d(any_of(any_of(a(x), b(x)), c(x))),
    "need too many": lambda x: d(first_of(a(x), b(x), need=3)),
    "need none": lambda x: d(first_of(a(x), b(x), need=0)),
    "no thread": lambda x: threads(a(x), 0),
    "no call": lambda _: a.many(0),
    "no pair": lambda x: choose(one := a(x), b(one)),
    "no condition": lambda x: choose(one := a(x), ("", b(one))),
    "nothing to choose": lambda x: choose(one := a(x), otherwise=b(one)),
    "nothing to defer": lambda x: deferred(one := a(x), b(one)),
    "one step twice": lambda x: choose(one := a(x), ("result = 1", two := b(one)), otherwise=two),
    "two splits": lambda x: deferred(deferred(one := a(x), two := b(one), c(one)), two, d(one)),
    "two ways back": lambda x: repeat(repeat(one := a(x), back_to=one, when="true"), back_to=one, when="false"),
    "a way back to two": lambda x: repeat(one := c(a(x), b(x)), back_to=one, when="result = 1"),
    "a way back to an item": lambda x: repeat(one := c(a(x)[0]), back_to=one, when="result = 1"),
    "a condition that is none": lambda x: repeat(one := a(x), back_to=one, when=3),  # type: ignore[arg-type]
    "an item": lambda x: locked(a(x)[0], "tape"),
    "no lock": lambda x: locked(a(x)),
    "an empty name": lambda x: sends(a(x), " "),
    "two waits": lambda x: waits_for(waits_for(a(x), "go"), "on"),
    "both kinds": lambda x: waits_for(waits_for(a(x), "go"), "go", transient=True),
    "milestone of a value": lambda x: milestone(a(x), after=1, before=b(x)),
    "nothing to cancel": lambda x: cancels(a(x)),
    "nothing to complete": lambda x: completes(a(x), b(x)),
    "two ends": lambda x: ends(ends(a(x)), cancelled=True),
}


@pytest.mark.parametrize("wrong", [*WRONG_CALLS, *WRONG_WORDS])
def test_misuse_is_refused_at_its_line(wrong: str) -> None:
    """What makes no sense is refused when it is said, with the line and with what to do."""
    body = WRONG_CALLS.get(wrong) or WRONG_WORDS[wrong]
    with pytest.raises(WorkflowProblem) as caught:
        _made(body)
    assert caught.value.code == ("W154" if wrong in WRONG_CALLS else "W155")
    assert caught.value.hint
    assert caught.value.span is not None
    assert caught.value.span.source.name == __file__
    assert caught.value.span.line == body.__code__.co_firstlineno


def test_messages_name_the_steps() -> None:
    """A message says which steps are in each other's way."""
    told = {
        "two joins": "`any_of(a, b)` and `active_of(a, b)` cannot both start one call",
        "another step": "`do` is started by `any_of(a, b)` and waits for `c` too",
        "a way back to two": "`c` waits for all of `a`, `b`, and a way back to it brings one result",
        "two splits": "`a` has a split already",
        "an item": "`locked` takes whole steps, not item 1 of the result of `a`",
    }
    for wrong, message in told.items():
        with pytest.raises(WorkflowProblem) as caught:
            _made((WRONG_CALLS | WRONG_WORDS)[wrong])
        assert caught.value.message == message


def test_words_belong_in_a_workflow() -> None:
    """Outside a workflow there is nothing to say them about."""
    outside: list[Callable[[], Any]] = [
        lambda: any_of(1, 2),
        lambda: signal_value("go"),
        lambda: locked(1, "tape"),
        lambda: completes(1, 2),
        lambda: a.many(2)(1),
    ]
    for use in outside:
        with pytest.raises(WorkflowProblem) as caught:
            use()
        assert caught.value.code == "W156"


def test_a_join_belongs_to_its_workflow() -> None:
    """A join of another workflow is refused like any step of one."""
    leaked: list[Any] = []
    _made(lambda x: leaked.append(any_of(a(x), b(x))))
    for use in (lambda _: d(leaked[0]), lambda _: d.after(leaked[0])()):
        with pytest.raises(WorkflowProblem) as caught:
            _made(use)
        assert caught.value.code == "W151"
