"""Asynchronous functions: a call that is out holds up nothing, and nothing is lost when it fails."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.lang.functions import Functions

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.lang.solution import Solution


@pytest.fixture(params=(None, 1))
def seed(request: pytest.FixtureRequest) -> int | None:
    """Run in order, and with choices at random."""
    found: int | None = request.param
    return found


class Service:
    """A service that answers when the test says so; it notes in which order things happen."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.gate = asyncio.Event()
        self.was_asked = asyncio.Event()
        self.functions = Functions()
        self.functions.register(self.ask, "ask")
        self.functions.register(self.fail, "fail")
        self.functions.register(self.note, "note")

    async def ask(self, value: Any) -> Any:
        """Answer with ten times the value, once the gate is open."""
        self.events.append(f"asked {value}")
        self.was_asked.set()
        await self.gate.wait()
        self.events.append(f"answered {value}")
        return value * 10

    async def fail(self, value: Any) -> Any:
        """Fail after a moment."""
        await asyncio.sleep(0)
        raise ConnectionError(f"no answer to {value}")

    def note(self, value: Any) -> Any:
        """Note a value, open the gate at the last, and give it back."""
        self.events.append(f"noted {value}")
        if value == 3:
            self.gate.set()
        return value


def run_with(text: str, act: Callable[[Service], None] | None = None, **options: Any) -> tuple[Solution, Service]:
    """Run a program with a service inside an event loop."""

    async def inside() -> tuple[Solution, Service]:
        service = Service()
        if act is not None:
            act(service)
        solution = solvent.hocl.parse(text, functions=service.functions).solution()
        await asyncio.wait_for(solvent.hocl.react_async(solution, **options), 200)
        return solution, service

    return asyncio.run(inside())


def open_gate(service: Service) -> None:
    """Let the service answer at once."""
    service.gate.set()


def test_other_reactions_go_on_meanwhile(seed: int | None) -> None:
    """While a call is out, other rules react; here only they let the call answer at all."""
    text = '<"q", B:1, (replace-one x::string by ask(x)), (step = replace B:n::int by B:note(n + 1) if (n < 3))>'
    solution, service = run_with(text, seed=seed)
    assert solvent.hocl.show(solution) == f'<"{"q" * 10}", B:3, step>'
    assert service.events.index("noted 3") < service.events.index("answered q")


def test_calls_are_out_together(seed: int | None) -> None:
    """Several calls wait at the same time: none of these answers before all three are out."""
    functions = Functions()
    barrier = asyncio.Barrier(3)

    @functions.register
    async def meet(value: int) -> int:
        await asyncio.wait_for(barrier.wait(), 200)
        return value

    text = "<1, 2, <3, (inner = replace x::int by A:meet(x))>, (outer = replace x::int by A:meet(x))>"
    solution = solvent.hocl.parse(text, functions=functions).solution()
    solvent.hocl.react(solution, seed=seed)
    assert solvent.hocl.show(solution) == "<A:1, A:2, <A:3, inner>, outer>"


def test_solution_is_not_inert_while_a_call_is_out(seed: int | None) -> None:
    """An outer rule waits for a sub-solution whose call is out."""
    inner = "<4, (replace-one x::int by ask(x))>"
    text = f"<{inner}, B:2, (replace-one B:n by B:note(n + 1)), (replace-one <x::int, ?w> by Out:x)>"
    solution, service = run_with(text, seed=seed)
    assert solvent.hocl.show(solution) == "<B:3, Out:40>"
    assert service.events.index("noted 3") < service.events.index("answered 4")


def test_answers_deep_inside_wake_every_solution_around(seed: int | None) -> None:
    """An answer in the innermost solution lets the ones around it go on, level by level."""
    out = "(replace-one <x::int> by x + 1)"
    text = f"<<<4, (replace-one x::int by ask(x))>, {out}>, {out}>"
    solution, _ = run_with(text, open_gate, seed=seed)
    assert solvent.hocl.show(solution) == "<42>"


def test_answers_react_further(seed: int | None) -> None:
    """What a call brings meets the rules and may call again."""
    text = "<1, (more = replace x::int by ask(x) if (x < 1000))>"
    solution, _ = run_with(text, open_gate, seed=seed)
    assert solvent.hocl.show(solution) == "<1000, more>"


@pytest.mark.parametrize("nested", [False, True])
def test_failed_call_puts_its_reactants_back(seed: int | None, *, nested: bool) -> None:
    """A call that fails gives reactants and one-shot rule back, wherever it was made."""
    service = Service()
    text = "<4, B, (asks = replace-one x::int, B by fail(x))>"
    text = f"<{text}, C>" if nested else text
    solution = solvent.hocl.parse(text, functions=service.functions).solution()
    before = solvent.hocl.show(solution)
    with pytest.raises(solvent.ReactionFailed) as caught:
        solvent.hocl.react(solution, seed=seed)
    assert caught.value.code == "H402"
    assert caught.value.message == "a function raised ConnectionError: no answer to 4"
    assert (caught.value.rule, sorted(caught.value.reactants)) == ("asks", ["4", "B"])
    assert solvent.hocl.show(solution) == before
    assert not solution.inert


@pytest.mark.parametrize(
    "text", ["<4^inf, (asks = replace-one x::int by fail(x))>", "<4, 4^inf, (asks = replace-one x::int by fail(x))>"]
)
def test_failed_call_adds_none_of_an_endless_reactant(seed: int | None, text: str) -> None:
    """Of a molecule of which there are always more a call takes none, and gives none back when it fails."""
    solution = solvent.hocl.parse(text, functions=Service().functions).solution()
    before = solvent.hocl.show(solution)
    with pytest.raises(solvent.ReactionFailed):
        solvent.hocl.react(solution, seed=seed)
    assert solvent.hocl.show(solution) == before


def test_run_can_go_on_after_a_failed_call(seed: int | None) -> None:
    """When the service works again, the same solution runs to its end."""
    answers = [OSError("down"), 7]
    functions = Functions()

    @functions.register
    async def flaky(_value: int) -> int:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    solution = solvent.hocl.parse("<<4, (replace-one x::int by A:flaky(x))>>", functions=functions).solution()
    with pytest.raises(solvent.ReactionFailed):
        solvent.hocl.react(solution, seed=seed)
    solvent.hocl.react(solution, seed=seed)
    assert solvent.hocl.show(solution) == "<<A:7>>"


def test_failed_call_brings_the_others_back(seed: int | None) -> None:
    """When one call fails, those still out are cancelled and their reactants are back."""
    service = Service()
    text = "<4, <5, (asks = replace-one x::int by ask(x))>, (two = replace-one x::int by fail(x))>"
    solution = solvent.hocl.parse(text, functions=service.functions).solution()
    before = solvent.hocl.show(solution)
    with pytest.raises(solvent.ReactionFailed):
        solvent.hocl.react(solution, seed=seed)
    assert solvent.hocl.show(solution) == before


@pytest.mark.parametrize(
    "text", ["<4, B, (asks = replace-one x::int by ask(x))>", "<<4, (r = replace x::int by A:ask(x))>, C>"]
)
def test_cancelled_run_loses_nothing(text: str, seed: int | None) -> None:
    """A run that is cancelled while calls are out puts every reactant back."""

    async def inside() -> None:
        service = Service()
        solution = solvent.hocl.parse(text, functions=service.functions).solution()
        before = solvent.hocl.show(solution)
        task = asyncio.ensure_future(solvent.hocl.react_async(solution, seed=seed))
        await asyncio.wait_for(service.was_asked.wait(), 200)
        assert solvent.hocl.show(solution) != before
        assert not solution.inert
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert solvent.hocl.show(solution) == before
        service.gate.set()
        await solvent.hocl.react_async(solution, seed=seed, max_reactions=3)

    asyncio.run(inside())


def test_time_limit_while_a_call_is_out(seed: int | None) -> None:
    """A limit of time stops waiting for a call, and its reactants are back."""
    service = Service()
    solution = solvent.hocl.parse("<4, (asks = replace-one x::int by ask(x))>", functions=service.functions).solution()
    with pytest.raises(solvent.LimitReached) as caught:
        solvent.hocl.react(solution, max_seconds=0.05, seed=seed)
    assert caught.value.code == "H502"
    assert solvent.hocl.show(solution) == "<4, asks>"


def test_reactions_max_counts_calls(seed: int | None) -> None:
    """A reaction that calls is one reaction, and the limit is exact."""
    functions = Functions()

    @functions.register
    async def same(value: int) -> int:
        return value

    solution = solvent.hocl.parse("<1, (r = replace x::int by same(x))>", functions=functions).solution()
    with pytest.raises(solvent.LimitReached):
        solvent.hocl.react(solution, max_reactions=5, seed=seed)
    assert solvent.hocl.show(solution) == "<1, r>"


def test_failing_computation_beside_a_call(seed: int | None) -> None:
    """A product that fails beside its call gives the reactants back."""
    service = Service()
    service.gate.set()
    solution = solvent.hocl.parse("<4, (r = replace x::int by ask(x), x / 0)>", functions=service.functions).solution()
    with pytest.raises(solvent.ReactionFailed) as caught:
        solvent.hocl.react(solution, seed=seed)
    assert caught.value.message == "division by zero"
    assert solvent.hocl.show(solution) == "<4, r>"


def test_run_inside_an_event_loop_says_what_to_call() -> None:
    """`run` refuses to wait inside a running event loop, and the reactants are back in the solution."""
    functions = Functions()

    async def later(number: int) -> int:
        return number + 1

    functions.register(later)
    solution = solvent.hocl.parse("<1, (replace-one x::int by R:later(x))>", functions=functions).solution()

    async def inside() -> None:
        with pytest.raises(solvent.Misuse) as caught:
            solvent.hocl.react(solution)
        assert caught.value.code == "H307"
        await solvent.hocl.react_async(solution)

    asyncio.run(inside())
    assert solvent.hocl.show(solution) == "<R:2>"


def test_a_step_waits_for_its_call() -> None:
    """A single step with an asynchronous call ends when its product is there."""
    functions = Functions()

    async def later(number: int) -> int:
        return number + 1

    functions.register(later)
    solution = solvent.hocl.parse("<1, (replace-one x::int by R:later(x))>", functions=functions).solution()
    assert solvent.hocl.step(solution) is not None
    assert solvent.hocl.show(solution) == "<R:2>"
