"""Running workflows under other rules than the library's: as they were published, or broken on purpose."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from solvent.runs import embedded as running
from solvent.runs.embedded import run_workflow
from solvent.runs.functions import HOST_FUNCTIONS
from solvent.workflows import translate as concrete

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.report import Report
    from solvent.workflows.model import Workflow

MAX_SECONDS = 200


@contextmanager
def changed_rules(file: str, old: str, new: str) -> Iterator[None]:
    """Let workflows run by a library of rules in which a piece of text is another; it must be there, once."""
    known = concrete._text_of

    def text_of(name: str) -> str:
        text = known(name)
        assert name != file or text.count(old) == 1
        return text.replace(old, new) if name == file else text

    functions = concrete.workflow_functions(**HOST_FUNCTIONS)
    with patch.object(concrete, "_text_of", text_of), patch.object(running, "FUNCTIONS", functions):
        yield


def run_changed(workflow: Workflow, file: str, old: str, new: str, **options: Any) -> Report:
    """Run a workflow by changed rules."""
    with changed_rules(file, old, new):
        return run_workflow(workflow, max_seconds=MAX_SECONDS, **options)
