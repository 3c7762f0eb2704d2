"""The gallery of patterns in `docs/reference`: made of the examples, the rules and the exploration of all orders.

    python -m tests.patterns.gallery         write the pages and pictures (`make gallery`)

A test compares what is written with what would be written, so a page cannot say what is not so any more.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.hocl.program_file import program_text
from solvent.lang.molecule import Symbol
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution
from solvent.runs.causality import violations
from solvent.runs.exploration import gated
from solvent.workflows.diagram import svg
from solvent.workflows.formats.yaml.writer import plain_control
from solvent.workflows.model import Control
from solvent.workflows.translate import concretise, task_symbol
from tests.patterns.catalogue import FOLDER, Case, Example, examples, inner_of, orders_in, statements_of, workflow_in
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from solvent.lang.molecule import Molecule

REFERENCE = ROOT / "docs" / "reference"
PAGES = REFERENCE / "patterns"

# Title, file, and the numbers of the catalogue.
GROUPS = (
    ("Basic control flow", "basic", (1, 2, 3, 4, 5)),
    ("Branching and synchronization", "joining", (6, 7, 8, 9, 28, 29, 30, 31, 32, 33, 37, 38, 41, 42)),
    ("Iteration and termination", "looping", (10, 11, 21, 22, 43)),
    ("Multiple instances", "many", (12, 13, 14, 15, 34, 35, 36)),
    ("States and triggers", "waiting", (16, 17, 18, 23, 24, 39, 40)),
    ("Cancelling and completing", "cancelling", (19, 20, 25, 26, 27)),
    ("Beyond the catalogue", "beyond", (None,)),
)

_MADE = "<!-- Made by `make gallery` of examples/patterns; do not edit. -->"
_INTRO = f"""\
# Workflow patterns

{_MADE}

The words for [control flow](workflow-files.md#control-flow) make all forty-three control-flow patterns of the workflow
patterns catalogue (Russell, ter Hofstede, van der Aalst, Mulyar 2006), and more. Each has an example in
`examples/patterns`, which runs as it is, and statements about who precedes whom, which were checked in every order in
which it can happen. `states` says how many states all these orders have.
"""
_LEGEND = """
[The rules](patterns/rules.md) say how. Those that many workflows have are left out of the table: `preparePass` and
`passInfo` pass a result on, `passOver` keeps the last one, `sm_setFlag` lets every arrival start a task, `invokeServ`
starts it; `prepareSkip` and `passNowhere` go with a choice. `mi_…` stands for all rules whose names begin so.
[Write a pattern of your own](../how-to/own-pattern.md) says how to add to them.
"""
_COMMON = frozenset(
    (
        "preparePass",
        "preparePassCounted",
        "prepareSkip",
        "passInfo",
        "passNowhere",
        "passOver",
        "sm_setFlag",
        "invokeServ",
    )
)
_FAMILIES = ("mi_", "mm_", "discr", "sync_", "syncM", "withdraw", "cancel", "passSkip", "majority_")


def made() -> dict[Path, str]:
    """Make all pages and pictures, by their places."""
    found = {REFERENCE / "patterns.md": _overview()}
    for title, file, numbers in GROUPS:
        chosen = [one for one in examples() if one.number in numbers]
        parts = [f"# {title}\n\n{_MADE}\n\n[All patterns](../patterns.md)\n", *map(_section, chosen)]
        found[PAGES / f"{file}.md"] = "\n".join(parts)
        found |= {PAGES / f"{one.name}.svg": svg(workflow_in(one.file)) for one in chosen}
    found[PAGES / "rules.md"] = _rule_page()
    return found


def _overview() -> str:
    lines = ["| | pattern | words | example | rules | states |", "|---|---|---|---|---|---|"]
    for one in examples():
        page = next(file for _, file, numbers in GROUPS if one.number in numbers)
        name = f"[{one.title}](patterns/{page}.md#{_anchor(one.heading)})"
        words = ", ".join(f"`{word}`" for word in _words(one)) or "none: data says it"
        file = f"[{one.name}](../../examples/patterns/{one.file.name})"
        rules = ", ".join(f"`{rule}`" for rule in dict.fromkeys(map(_family, _rules(one))) if rule not in _COMMON)
        lines.append(f"| {one.number or ''} | {name} | {words} | {file} | {rules or '`sm_setFlag`'} | {_states(one)} |")
    return f"{_INTRO}{_LEGEND}\n" + "\n".join(lines) + "\n"


def _family(rule: str) -> str:
    return next((f"{family}…" for family in _FAMILIES if rule.startswith(family)), rule)


def _rule_page() -> str:
    """Give the text of every rule that an example uses."""
    rules = {str(one.name): one for example in examples() for one in _solution(example.file) if type(one) is Rule}
    parts = [f"# The rules of patterns\n\n{_MADE}\n\n[All patterns](../patterns.md)\n"]
    parts.append("A rule `start_…` is put together of what a task waits for; the others are always the same.\n")
    for name in sorted(rules, key=str.lower):
        # Behind the rule stands the solution of it alone.
        text = program_text(Solution([rules[name]])).removesuffix(f"<{name}>\n").rstrip()
        parts.append(f"## {name}\n\n```hocl no-check\n{text.removesuffix(' in').removesuffix(chr(10) + 'in')}\n```\n")
    return "\n".join(parts)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _states(example: Example) -> int:
    return max(len(orders_in(example, case).states) for case in example.cases)


# --- One pattern.


def _section(example: Example) -> str:
    file = _path(example.file)
    return f"""\
## {example.heading}

{_sentence(example.meaning)}

{example.story}

![{example.title}]({example.name}.svg)

[{example.file.name}]({file}):

```yaml no-check
{_tasks(example)}```

{_held(example)}
{_code(example)}<details>
<summary>Its molecules</summary>

It composes {_linked(_rules(example))}.

```hocl no-check
{_molecules(example)}```

</details>
"""


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _path(file: Path) -> str:
    return Path(os.path.relpath(file, PAGES)).as_posix()


def _tasks(example: Example) -> str:
    """Give what the file says but for its name and its services."""
    kept, is_kept = [], False
    for line in example.text.splitlines():
        if line and not line.startswith(" "):
            is_kept = not line.startswith("workflow:") and (line != "services:" or bool(example.inside))
        if is_kept:
            kept.append(line)
    return "\n".join(kept).strip("\n") + "\n"


def _held(example: Example) -> str:
    parts = []
    for case in example.cases:
        given = ", ".join(f"`{name}` = {json.dumps(value)}" for name, value in case.inputs.items())
        orders = orders_in(example, case)
        where = f"With {given}, in" if given else "In"
        parts.append(f"{where} every order ({_counted(len(orders.states), 'state')}):\n")
        parts += [f"- {_said(example, case, statement)}" for statement in statements_of(example, case)]
        if case.open:
            parts.append("\nLeft open, so in some orders only:\n")
            parts += [f"- {statement}" for statement in case.open]
        parts.append("")
    if example.inside:
        parts.append(f"Inside `{inner_of(example).name}`, in every order:\n")
        parts += [f"- {statement}" for statement in example.inside]
        parts.append("")
    return "\n".join(parts)


def _said(example: Example, case: Case, statement: str) -> str:
    is_so = not violations(orders_in(example, case), [statement])
    return statement if is_so else f"{statement} (**not yet**: an order is known in which it is not so)"


def _code(example: Example) -> str:
    return "" if example.code == 0 else f"`solvent run` exits with {example.code}.\n\n"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


# --- Words, rules, molecules.


def _words(example: Example) -> list[str]:
    """Give the words that an example uses; of how it joins and splits also in which way."""
    found: dict[str, None] = {}
    workflow = workflow_in(example.file)
    for task in workflow.tasks:
        for word, value in plain_control(task.control or Control()).items():
            found[_word(word, value)] = None
        if task.each is not None:
            found[f"each: {task.each.how}"] = None
    if workflow.alternatives:
        found["alternatives"] = None
    if any(service.kind == "workflow" for service in workflow.services):
        found["services: workflow"] = None
    return [word for word in found if word != "to"]


def _word(word: str, value: Any) -> str:
    if word == "instances" and isinstance(value, dict):
        return f"instances: {{{', '.join(value)}}}"
    return f"{word}: {_flow(value)}" if word in ("join", "split", "ends") else word


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items()) + "}"
    return json.dumps(value) if isinstance(value, bool | int) else str(value)


@cache
def _solution(file: Path) -> Solution:
    example = next(one for one in examples() if one.file == file)
    return concretise(gated(workflow_in(example.file)), folder=FOLDER).solution


def _rules(example: Example) -> list[str]:
    return [str(one.name) for one in _solution(example.file) if type(one) is Rule]


def _linked(names: list[str]) -> str:
    return ", ".join(f"[{name}](rules.md#{_anchor(name)})" for name in names)


def _molecules(example: Example) -> str:
    """Give the gates of the tasks that matter: those with words of their own, or the one that all leads to."""
    workflow = workflow_in(example.file)
    names = {task.name for task in workflow.tasks if task.control is not None} or {workflow.tasks[-1].name}
    wanted = {(Symbol("GATE"), task_symbol(name)) for name in names}
    return program_text(
        Solution(_bare(one) for one in _solution(example.file) if type(one) is tuple and one[:2] in wanted)
    )


def _bare(molecule: Molecule) -> Molecule:
    """Leave out the rules that an instance calls its service by."""
    if type(molecule) is Solution:
        return Solution(_bare(one) for one in molecule if type(one) is not Rule)
    return tuple(map(_bare, molecule)) if type(molecule) is tuple else molecule


def main() -> None:
    """Write the gallery, and remove what does not belong to it any more."""
    wanted = made()
    PAGES.mkdir(exist_ok=True)
    for file in PAGES.iterdir():
        if file not in wanted:
            file.unlink()
    for file, text in wanted.items():
        file.write_text(text, encoding="utf-8")
    print(f"{len(wanted)} files in {PAGES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
