"""Figures 15 and 16 of INRIA technical report 7610: the states of its seven services, beside what is here then.

The states of a run are read back into the paper's words by `seen`, so that each can be compared with what the figures
print. `walk` leads the program of `examples/patterns/coordination.hocl` from each state of the figures to the next,
by the shortest way that its rules have, and tells which rules react on it.

A service of the paper is here a gate that stays and an instance that comes and goes; both count as the service.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from solvent.engine.explore import Exploration, explore
from solvent.lang.molecule import Symbol
from solvent.lang.printer import print_molecule as written
from solvent.lang.solution import Solution
from solvent.runs.conditions import Chooser
from solvent.runs.exploration import gated
from solvent.runs.functions import HOST_FUNCTIONS, current
from solvent.services.python import function_of
from solvent.workflows.formats.files import load_text
from solvent.workflows.rule_functions import molecule_of, value_of
from solvent.workflows.translate import concretise, task_symbol, workflow_functions
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.lang.molecule import Molecule
    from solvent.workflows.model import Workflow

FOLDER = ROOT / "examples" / "patterns"
EXAMPLE = FOLDER / "coordination.hocl"
PAGE = ROOT / "docs" / "explanation" / "molecular-composition.md"

Seen = dict[str, set[str]]
"""The molecules of each service, in the paper's words; what no service has yet is `on the way`."""


def section_5(count: int = 7) -> Workflow:
    """Give the example of section 5, whose first service is called with a number."""
    text = EXAMPLE.read_text(encoding="utf-8").replace("PARAM : <7>", f"PARAM : <{count}>")
    return load_text(text, name="coordination.hocl").workflow


# --- A state in the paper's words.


def seen(state: Solution) -> Seen:
    """Read a state back into the molecules that the paper has for it."""
    found: Seen = {}
    began = {one[1] for one in state if _is(one, "GATE") and _parts(one[2])["RUNS"] > 0}
    for one in state:
        if type(one) is not tuple:
            continue
        match written(one[0]):
            case "GATE":
                found.setdefault(written(one[1]), set()).update(_gate(_parts(one[2]), has_begun=one[1] in began))
            case "FLAG_INVOKE":
                found.setdefault(written(one[1]), set()).update(("FLAG_INVOKE:1", *_arrived(one[3])))
            case "PASS":
                found.setdefault("on the way", set()).add(f"{written(one[2])} to {written(one[1])}")
            case _ if type(one[1]) is Solution:
                found.setdefault(written(one[0]), set()).update(_instance(written(one[0]), _parts(one[1])))
    return found


def _gate(parts: dict[str, Any], *, has_begun: bool) -> Iterator[str]:
    """Tell what a gate says; where a service passes to stays in the copy that its first instance is made of."""
    copied = _parts(parts["COPY"])
    if not has_begun:
        yield from (f"DEST:{written(to[1])}" for to in copied.get("DST", ()))
        if "CHOICE" in copied:
            yield "the condition"
    if "SYNC_SRC" in parts:
        yield f"SYNC_SRC:⟨{_listed(map(written, parts['SYNC_SRC']))}⟩"
        inbox = (f"COMPLETED:{written(one[0])}" for one in parts["SYNC_INBOX"])
        yield f"SYNC_INBOX:⟨{_listed(inbox)}⟩"
    yield from _arrived(parts.get("DISCR_INBOX", ()))


def _instance(name: str, parts: dict[str, Any]) -> Iterator[str]:
    if "RES" in parts:
        yield f"RESULT:{name}:⟨{written(parts['RES'])}⟩"
    else:
        yield from _arrived(parts["IN"])
    if "CHOICE" in parts:
        yield "the condition"
    yield from (f"DEST:{written(to[1])}" for to in parts.get("DST", ()))
    yield from (f"PASS:{written(one[1])}:⟨COMPLETED:{written(one[2])}⟩" for one in parts.get("OUTBOX", ()))
    if "ERR" in parts:
        yield "ERROR"


def _arrived(tokens: Any) -> Iterator[str]:
    return (f"COMPLETED:{written(one[0])}" for one in tokens)


def _listed(items: Any) -> str:
    return ", ".join(sorted(items))


def _is(molecule: Molecule, word: str) -> bool:
    return type(molecule) is tuple and molecule[0] is Symbol(word)


def _parts(solution: Solution) -> dict[str, Any]:
    return {written(one[0]): one[1] for one in solution if type(one) is tuple}


# --- What the figures show.


@dataclass(frozen=True)
class Step:
    """A state of the figures: its lines, what is new in it, and what the services hold here when it is reached."""

    number: str
    lines: str
    shown: str
    here: dict[str, str]
    """The molecules of the services that the figure does not leave out, divided by spaces of two."""
    rules: tuple[str, ...] = ()
    """What reacts between the state before and this one."""

    def fits(self, state: Seen) -> bool:
        """Tell whether each service holds just what it should, and nothing is on the way."""
        held = {name: set(text.split("  ")) - {""} for name, text in self.here.items()}
        return "on the way" not in state and all(state.get(name, set()) == what for name, what in held.items())


_CALL = ("invokeServ", "gw_setup", "gw_call")
_NUMBERS = "RESULT:ChWS1:⟨(1, 2, 3, 4, 5, 6, 7)⟩"
_WAITS = "SYNC_SRC:⟨ChWS2, ChWS3⟩  SYNC_INBOX:⟨⟩"
_FOURTH = {"ChWS4": f"{_WAITS}  the condition"}
_LATER = {"ChWS5": "DEST:ChWS7", "ChWS6": "DEST:ChWS7", "ChWS7": ""}
_MIDDLE = {"ChWS2": "DEST:ChWS4", "ChWS3": "DEST:ChWS4"} | _FOURTH | _LATER
_TO_4, _TO_7 = "PASS:ChWS4:⟨COMPLETED:{0}⟩", "PASS:ChWS7:⟨COMPLETED:{0}⟩"
_DONE_6 = f"RESULT:ChWS6:⟨12⟩  {_TO_7.format('ChWS6')}"

STEPS = (
    Step(
        "0",
        "13.01–13.09",
        "all services as written; `*` starts ChWS1",
        {"ChWS1": "DEST:ChWS2  DEST:ChWS3  FLAG_INVOKE:1"} | _MIDDLE,
    ),
    Step("1", "13.10–13.16", "RESULT of ChWS1", {"ChWS1": f"DEST:ChWS2  DEST:ChWS3  {_NUMBERS}"} | _MIDDLE, _CALL),
    Step(
        "2",
        "13.17–13.24",
        "PASS to ChWS2 and to ChWS3 in ChWS1",
        {"ChWS1": f"{_NUMBERS}  PASS:ChWS2:⟨COMPLETED:ChWS1⟩  PASS:ChWS3:⟨COMPLETED:ChWS1⟩"} | _MIDDLE,
        ("preparePass",) * 2,
    ),
    Step(
        "3",
        "13.25–13.30",
        "RESULT of ChWS2 and of ChWS3",
        {"ChWS2": "DEST:ChWS4  RESULT:ChWS2:⟨1⟩", "ChWS3": "DEST:ChWS4  RESULT:ChWS3:⟨7⟩"} | _FOURTH | _LATER,
        ("passInfo", "sm_setFlag", "sm_setFlag", *_CALL * 2),
    ),
    Step(
        "4",
        "13.31–13.36",
        "PASS to ChWS4 in ChWS2 and in ChWS3",
        {
            "ChWS2": f"RESULT:ChWS2:⟨1⟩  {_TO_4.format('ChWS2')}",
            "ChWS3": f"RESULT:ChWS3:⟨7⟩  {_TO_4.format('ChWS3')}",
        }
        | _FOURTH
        | _LATER,
        ("preparePass",) * 2,
    ),
    Step(
        "5",
        "14.02–14.03",
        "ChWS4: SYNC_SRC is empty, SYNC_INBOX holds both",
        {"ChWS4": "SYNC_SRC:⟨⟩  SYNC_INBOX:⟨COMPLETED:ChWS2, COMPLETED:ChWS3⟩  the condition"} | _LATER,
        ("passInfo", "passInfo", "synchronize", "synchronize"),
    ),
    Step(
        "5",
        "14.04–14.06",
        "ChWS4: FLAG_INVOKE:1",
        {"ChWS4": f"FLAG_INVOKE:1  COMPLETED:ChWS2  COMPLETED:ChWS3  {_WAITS}  the condition"} | _LATER,
        ("sync_setFlag",),
    ),
    Step(
        "6",
        "14.07–14.12",
        "RESULT of ChWS4, and the condition",
        {"ChWS4": f"{_WAITS}  RESULT:ChWS4:⟨6⟩  the condition"} | _LATER,
        _CALL,
    ),
    Step(
        "7",
        "14.13–14.16",
        "PASS to ChWS5 and to ChWS6 in ChWS4: the condition holds",
        {"ChWS4": f"{_WAITS}  RESULT:ChWS4:⟨6⟩  PASS:ChWS5:⟨COMPLETED:ChWS4⟩  PASS:ChWS6:⟨COMPLETED:ChWS4⟩"} | _LATER,
        ("passInfoCond", "preparePass", "preparePass"),
    ),
    Step(
        "8",
        "14.17–14.22",
        "the result of ChWS4 in ChWS5 and in ChWS6",
        dict.fromkeys(("ChWS5", "ChWS6"), "DEST:ChWS7  FLAG_INVOKE:1  COMPLETED:ChWS4") | {"ChWS7": ""},
        ("passInfo", "sm_setFlag", "sm_setFlag"),
    ),
    Step(
        "9",
        "14.23–14.26",
        "PASS to ChWS7 in ChWS5 and in ChWS6, with DISCRIMINATOR:Yes",
        {"ChWS5": f"RESULT:ChWS5:⟨12⟩  {_TO_7.format('ChWS5')}", "ChWS6": _DONE_6, "ChWS7": ""},
        (*_CALL * 2, "preparePass", "preparePass"),
    ),
    Step(
        "10",
        "14.27–14.29",
        "what ChWS5 passed in ChWS7; ChWS6 still has its PASS",
        {"ChWS5": "", "ChWS6": _DONE_6, "ChWS7": "COMPLETED:ChWS5"},
        ("passInfo", "discriminate"),
    ),
    Step(
        "11",
        "14.30–14.32",
        "RESULT of ChWS7; ChWS6 still has its PASS",
        {"ChWS6": _DONE_6, "ChWS7": 'RESULT:ChWS7:⟨"the result is 12"⟩'},
        ("discr_setFlag", *_CALL),
    ),
)
AFTERWARDS = ("passInfo", "passInfo", "discr_ignore", "discr_reset")
"""What reacts after the last state of the figures: both pass, and what ChWS6 has passed is ignored."""


# --- The way through them.


class Program:
    """The program of a workflow, whose services answer at once, so that states are all there is."""

    def __init__(self, workflow: Workflow) -> None:
        self.chooser = Chooser(workflow, FOLDER)
        self._names = {task_symbol(task.name): task.name for task in workflow.tasks}
        services = {one.name: function_of(one, FOLDER) for one in workflow.services}
        functions = workflow_functions(**{**HOST_FUNCTIONS, "invoke": _answering(services)})
        # The paper's services all join and pass on by themselves.
        self.solution = concretise(gated(workflow), None, functions=functions, folder=FOLDER).solution
        current.execution = self

    def name_of(self, task: Molecule) -> str:
        """Give the name of a task, which the rules ask for."""
        return self._names[task]

    def steps(self) -> list[tuple[tuple[str, ...], Seen]]:
        """Go from each state of the figures to the next; give the rules that react, and the state that is reached."""
        state, found = self.solution, []
        for step in STEPS:
            rules, state = way(state, step.fits)
            found.append((rules, seen(state)))
        found.append((way(state, lambda _: False, to_end=True)[0], seen(state)))
        return found


def _answering(services: dict[str, Callable[..., Any]]) -> Callable[..., Molecule]:
    def invoke(_task: Molecule, service: Molecule, arguments: Molecule) -> Molecule:
        return Symbol("RES"), molecule_of(services[service](*map(value_of, arguments)))

    return invoke


def way(start: Solution, fits: Callable[[Seen], bool], *, to_end: bool = False) -> tuple[tuple[str, ...], Solution]:
    """Find a shortest way to a state that fits, or to the end; fail if there is none."""
    found = Exploration()
    explore(start, into=found, should_stop=None if to_end else lambda: any(fits(seen(one)) for one in found.states))
    ends = found.finals if to_end else [at for at, one in enumerate(found.states) if fits(seen(one))]
    if not ends:
        last = "\n".join(f"{name}: {sorted(held)}" for name, held in seen(start).items())
        raise AssertionError(f"no way leads there from\n{last}")
    return tuple(record.rule for record in found.run_to(ends[0])), found.states[ends[0]]


# --- The table of the page.


def table() -> str:
    """Write the figures beside the run: what each state shows, what is new here then, and what has reacted."""
    lines = ["| step | lines | the figure shows | new here | rules that reacted |", "|---|---|---|---|---|"]
    before: dict[str, set[str]] = {}
    for step in STEPS:
        held = {name: text.split("  ") for name, text in step.here.items()}
        new = [
            f"{name}: {', '.join(f'`{one}`' for one in fresh)}"
            for name, molecules in held.items()
            if (fresh := [one for one in molecules if one and one not in before.get(name, set())])
        ]
        before |= {name: set(molecules) for name, molecules in held.items()}
        lines.append(f"| {step.number} | {step.lines} | {step.shown} | {'; '.join(new)} | {_counted(step.rules)} |")
    lines.append(f"| | | | nothing on the way, no instance left | {_counted(AFTERWARDS)} |")
    return "\n".join(lines) + "\n"


def _counted(rules: tuple[str, ...]) -> str:
    """Write rules in order, each once with its number."""
    each = dict.fromkeys(rules)
    return ", ".join(f"`{rule}`" + (f" ×{rules.count(rule)}" if rules.count(rule) > 1 else "") for rule in each)


__all__ = ["AFTERWARDS", "FOLDER", "PAGE", "STEPS", "Program", "Seen", "Step", "section_5", "seen", "table", "way"]
