"""Views of a running workflow: a live picture on a terminal, lines of text elsewhere, or lines of a log.

A small workflow is shown task by task, a large one, or one with a long loop, in numbers with its longest running tasks.
Failures and adaptations stay on the screen.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from solvent.cli.records import said_store
from solvent.cli.render import complain, counted, harmless, shortened, write
from solvent.cli.task_states import MARKS, STYLES, TaskStates

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from solvent.cli.log import Log
    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Report, TaskEvent
    from solvent.workflows.model import Workflow

_MAX_TASKS = 40
_MAX_RUNNING = 8
_MAX_FAILURES = 20
_MAX_LINES = 400
_LINE_SECONDS = 1.0
_MAX_TEXT = 160
_MAX_NAME = 40
_LEVELS = {"failed": "warning", "adapted": "warning", "cancelled": "warning", "healed": "warning"}
"""The levels of events in a log; others are `info`."""


CACHE_EVENTS = frozenset({"reused", "missed"})


def said_of_cache(event: TaskEvent) -> str:
    """Return whether a result is reused, or why its call is made."""
    return f"{'≡' if event.kind == 'reused' else '≢'} {event.text}"


class View:
    """Shows nothing of tasks; the base of other views."""

    #: The run that is shown, and the option that names its store, if others can send it signals.
    run = said_store = ""

    def __init__(self, workflow: Workflow) -> None:
        self.tasks = TaskStates(workflow)
        self.width = min(_MAX_NAME, max((len(task.name) for task in workflow.tasks), default=0))
        self.is_controlled = workflow.is_controlled
        #: Whether to write what is reused, and why anything else is not.
        self.explains = False
        self._failures = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to somebody else for a while."""
        yield

    def take(self, event: TaskEvent) -> None:
        """Take an event of the run."""
        self.tasks.take(event)

    def go_on(self, record: RunRecord, workflow: Workflow, kept: Iterable[TaskEvent] = ()) -> None:
        """Show another version of the run from now on, in which something was kept."""
        self.tasks = TaskStates(workflow)
        for event in kept:
            self.tasks.take(event)
        self.width = max(self.width, min(_MAX_NAME, max((len(task.name) for task in workflow.tasks), default=0)))
        self.tell(f"{record.run} continues as version {record.version}")

    def tell(self, text: str) -> None:
        """Write a message about the run that is no event of it, such as why nothing happens."""
        complain(text)
        sys.stderr.flush()

    def end(self, report: Report) -> None:
        """Take how the run ended."""

    def explained(self, event: TaskEvent) -> str:
        """Return an adaptation in words."""
        if event.within:
            return f"{event.text} takes over, because of {event.task}"
        one = next(one for one in self.tasks.workflow.alternatives if one.name == event.text)
        instead = one.explain().partition(", ")[0]
        return f"{event.text}: {instead}, because of {event.task}"

    def explained_wait(self, event: TaskEvent) -> str:
        """Return for what a task waits, and how to send it."""
        how = f": solvent signal {self.run} {event.text}{self.said_store}" if self.run else ""
        return f"⏸ {event.task} waits for the signal `{event.text}`{how}"

    def may_tell(self) -> bool:
        """Return whether to write another failure, or another adaptation in a loop."""
        self._failures += 1
        return self._failures <= _MAX_FAILURES


class Lines(View):
    """Lines of text on standard error."""

    def __init__(self, workflow: Workflow) -> None:
        super().__init__(workflow)
        self.is_small = len(workflow.tasks) <= _MAX_TASKS
        self._told = 0.0
        self._lines = 0

    def take(self, event: TaskEvent) -> None:
        """Write what happened; of a large workflow only its progress."""
        if event.kind in CACHE_EVENTS:
            if self.explains:
                self._write(event.seconds, said_of_cache(event))
            return
        changed = self.tasks.take(event)
        if event.kind == "adapted":
            if self.is_small or not self.is_controlled or self.may_tell():
                self._write(event.seconds, f"↻ {self.explained(event)}")
        elif event.kind == "failed":
            if self.is_small or self.may_tell():
                self._write(event.seconds, f"✗ {event.task:<{self.width}}  failed: {shortened(event.text, _MAX_TEXT)}")
        elif event.kind == "healed":
            if self.is_small or self.may_tell():
                self._write(event.seconds, f"↻ {event.task:<{self.width}}  {shortened(event.text, _MAX_TEXT)}")
        elif changed and self.is_small:
            self._write(event.seconds, self._line(event))
        if self.is_small and self._lines > _MAX_LINES:
            # A long loop would fill the screen.
            self.is_small = False
            self._write(event.seconds, "… many events: only totals from here on")
        if not self.is_small and event.seconds - self._told >= _LINE_SECONDS:
            self._told = event.seconds
            states = [f"{many:,} {state}" for state, many in self.tasks.counted()]
            if self.is_controlled:
                states.append(counted(self.tasks.calls.total(), "call"))
            self._write(event.seconds, ", ".join(states))

    def tell(self, text: str) -> None:
        """Write what is worth knowing."""
        write(f"! {text}", to=sys.stderr)
        sys.stderr.flush()

    def _line(self, event: TaskEvent) -> str:
        """Return what happened to a task in words; of one that begins again, with the number of the run."""
        if event.kind == "signal":
            return f"⚑ the signal `{event.task}` came"
        if event.kind == "waits":
            return self.explained_wait(event)
        tasks, name = self.tasks, event.task
        if event.within:
            state = "running" if event.kind == "started" else event.kind
            return f"{MARKS[state]} {name:<{self.width}}  {event.kind}"
        state = tasks.states[name]
        word = state
        if event.kind == "started":
            word = "started again" if tasks.rounds[name] > 1 and self.is_controlled else "started"
            if tasks.calls[name] > 1 and name in tasks.repeatable:
                word += f", run {tasks.calls[name]:,}"
        return f"{MARKS[state]} {name:<{self.width}}  {word}"

    def _write(self, seconds: float, text: str) -> None:
        self._lines += 1
        write(f"{seconds:7.2f} s  {text}", to=sys.stderr)
        sys.stderr.flush()


class Picture(View):
    """A picture on a terminal, drawn anew several times in a second."""

    def __init__(self, workflow: Workflow) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(workflow)
        self._console = Console(stderr=True, highlight=False)
        rows = self._console.size.height
        self._is_small = len(workflow.tasks) <= min(_MAX_TASKS, max(rows - 6, 4))
        self._live = Live(get_renderable=self.draw, console=self._console, refresh_per_second=10, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the picture; the summary reports how the run ended."""
        self._live.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Remove the picture for a while."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def take(self, event: TaskEvent) -> None:
        """Change the picture; failures and adaptations are written above it."""
        if event.kind in CACHE_EVENTS:
            if self.explains:
                self._say(said_of_cache(event), "cyan")
            return
        self.tasks.take(event)
        if event.kind == "adapted" and (not self.is_controlled or self.may_tell()):
            self._say(f"↻ {self.explained(event)}", "yellow")
        elif event.kind == "failed" and self.may_tell():
            self._say(f"✗ {event.task} failed: {shortened(event.text, _MAX_TEXT)}", "red")
        elif event.kind == "healed" and self.may_tell():
            self._say(f"↻ {event.task} {shortened(event.text, _MAX_TEXT)}", "yellow")
        elif event.kind == "signal":
            self._say(f"⚑ the signal `{event.task}` came", "cyan")
        elif event.kind == "waits":
            self._say(self.explained_wait(event), "yellow")

    def tell(self, text: str) -> None:
        """Write what is worth knowing above the picture."""
        self._say(f"! {text}", "yellow")

    def _say(self, text: str, style: str) -> None:
        from rich.text import Text

        self._console.print(Text(harmless(text), style))

    def draw(self) -> Any:
        """Draw the state of the run."""
        from rich.console import Group

        rows = self._tasks() if self._is_small else self._longest()
        return Group(self._head(), *rows)

    def _head(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        tasks = self.tasks
        text = Text()
        for state, many in tasks.counted():
            text.append(f"{many:,} {state}  ", STYLES.get(state, "dim"))
        head = Table.grid(padding=(0, 1))
        if self.is_controlled:
            # How much is left is unknown where tasks are chosen and repeated.
            text.append(f"{counted(tasks.calls.total(), 'call')}  ", "dim")
            text.append(f"{tasks.seconds:.1f} s", "bold")
            head.add_row(Text(harmless(tasks.workflow.name), "bold"), text)
            return head
        text.append(f"{tasks.seconds:.1f} s", "bold")
        over = sum(tasks.counts[state] for state in ("done", "replaced", "failed", "cancelled"))
        total = max(len(tasks.states) - tasks.counts["unused"], 1)
        head.add_row(Text(harmless(tasks.workflow.name), "bold"), ProgressBar(total, over, width=24), text)
        return head

    def _tasks(self) -> Iterator[Any]:
        for name, state in list(self.tasks.states.items()):
            yield self._row(name, state)

    def _longest(self) -> Iterator[Any]:
        running = list(islice(self.tasks.running, _MAX_RUNNING + 1))
        for name in running[:_MAX_RUNNING]:
            yield self._row(name, "running")
        if len(running) > _MAX_RUNNING:
            from rich.text import Text

            yield Text(f"  … and {len(self.tasks.running) - _MAX_RUNNING:,} more", "dim")

    def _row(self, name: str, state: str) -> Any:
        from rich.text import Text

        tasks = self.tasks
        style = STYLES.get(state, "dim")
        row = Text(no_wrap=True, overflow="ellipsis")
        row.append(f"  {MARKS[state]} ", style)
        row.append(f"{harmless(shortened(name, _MAX_NAME)):<{self.width}}  ", "" if state != "unused" else "dim")
        row.append(f"{state:<9}", style)
        if (since := tasks.running.get(name)) is not None:
            row.append(f"{tasks.seconds - since:6.1f} s", "cyan")
        elif name in tasks.took:
            row.append(f"{tasks.took[name]:6.1f} s", "dim")
        if calls := tasks.runs_of(name):
            row.append(f"  {calls}", "dim")
        return row


class LogView(View):
    """A run as lines of a log, in place of a picture."""

    def __init__(self, workflow: Workflow, log: Log, run: str) -> None:
        super().__init__(workflow)
        self._log = log
        self._said = {"workflow": workflow.name, "run": run}

    def take(self, event: TaskEvent) -> None:
        """Write what happened."""
        super().take(event)
        text = self.explained(event) if event.kind == "adapted" else event.text
        said = f"{event.task} {event.kind}{f': {text}' if text else ''}"
        level = _LEVELS.get(event.kind, "info")
        seconds = round(event.seconds, 6)
        self._log.tell(f"task.{event.kind}", said, level=level, **self._said, task=event.task, seconds=seconds)

    def tell(self, text: str) -> None:
        """Write what is worth knowing."""
        self._log.tell("run.trouble", text, level="warning", **self._said)

    def end(self, report: Report) -> None:
        """Write how the run ended."""
        from solvent.runs.report import problem_of, state_of

        state, problem = state_of(report), problem_of(report)
        said = f"{self._said['run'] or self._said['workflow']} is {state}{f': {problem}' if problem else ''}"
        level = "info" if state == "done" else "error"
        self._log.tell(f"run.{state}", said, level=level, **self._said, state=state)


def view_of(workflow: Workflow, *, is_quiet: bool = False) -> View:
    """Choose how to show a run: not at all, as a picture or as lines."""
    if sys.stderr.isatty() and not is_quiet:
        return Picture(workflow)
    return View(workflow) if is_quiet else Lines(workflow)


def view_for(workflow: Workflow, options: Namespace, *, run: str) -> View:
    """Choose how to show a run as the options say: as lines of a log, if that is asked for."""
    if options.log_format is None and options.log_level is None:
        is_json = options.format == "json" and not sys.stderr.isatty()
        view = view_of(workflow, is_quiet=is_json or getattr(options, "trace", False))
        view.run, view.said_store = run, said_store(options)
        return view
    from solvent.cli.log import Log

    log = Log(sys.stderr, is_json=options.log_format == "json", level=options.log_level)
    return LogView(workflow, log, run)
