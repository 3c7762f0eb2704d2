"""Arguments that commands and addresses ask for: `{0}`, `{name}`. How they are put in, `services.substitution` says.

W185  a task calls a service that asks for an argument which the task does not give
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.workflows.model import Service, Task
    from solvent.workflows.problems import Report

PLACE = re.compile(r"\{\{(?P<plain>\d+|[A-Za-z_]\w*)\}\}|(?<!\$)\{(?P<name>\d+|[A-Za-z_]\w*)\}")
_FILE = "file:"


def names_in(text: str) -> set[str]:
    """Collect the arguments that a text asks for."""
    return {match["name"] for match in PLACE.finditer(text) if match["name"]}


def check_placeholders(task: Task, service: Service, report: Report) -> None:
    """Report the arguments that a service asks for and a task does not give."""
    given = {*map(str, range(len(task.arguments))), *task.keywords}
    for name in sorted(_asked(service) - given):
        message = f"`{task.name}` calls `{service.name}`, which needs the argument {{{name}}}, and does not give it"
        how = "`in: [...]`" if name.isdecimal() else f"`with: {{{name}: ...}}`"
        plain = f"{{{{{name}}}}} is the text {{{name}}} itself"
        report.add(
            "W185",
            message,
            ("task", task.name),
            hint=f"give it: {how}; {plain}",
            python=f"give it in the call; {plain}",
        )


def _asked(service: Service) -> set[str]:
    if service.kind == "http":
        return names_in(service.target)
    if service.kind != "shell":
        return set()
    result, stdin = service.options.get("result"), service.options.get("stdin")
    asked = names_in(service.target)
    if isinstance(result, str) and result.startswith(_FILE):
        asked = (asked - {"out"}) | names_in(result[len(_FILE) :])
    if type(stdin) is int:
        asked.add(str(stdin))
    return asked - {"task"}


__all__ = ["PLACE", "check_placeholders", "names_in"]
