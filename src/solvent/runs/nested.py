"""The sub-workflows that are open in an execution: each is an execution of its own, inside the call that opened it.

    begun     its call begins as any other does: the policy of the service holds for the call (`services.call`)
    open      its molecules react in the turns of the host, and its calls are made like any others
    ended     nothing more can happen inside, or the call was ended from outside: the call has its outcome

All have the journal of the outermost execution and its open calls, so they are kept, repeated, admitted and handed to
other processes with it, at any depth. What happens inside is noted with the path of the sub-workflow (see `events`).
Whoever continues the run opens them again where the journal does, and lets their calls be made when the call around
them has begun again.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from solvent.engine.reaction import Stopped
from solvent.errors import ReactionFailed, RecordProblem, SolventError, WorkflowFailed, WorkflowProblem
from solvent.runs.calls import SubworkflowBegan, SubworkflowStopped
from solvent.runs.conditions import predicates_of
from solvent.runs.events import WorkflowClosed, WorkflowDefined
from solvent.runs.functions import FUNCTIONS, bound
from solvent.runs.kinds import LAUNCHERS, workflow_of
from solvent.runs.registry import digest_of, document_of
from solvent.runs.report import plain_value_of
from solvent.runs.resources import lender_of
from solvent.services.failure import Told, failure_of
from solvent.workflows.translate import concretise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from solvent.runs.calls import CallMaker, OpenCall
    from solvent.runs.events import CallStarted
    from solvent.runs.execution import Execution, Spectator
    from solvent.runs.kept import Blobs
    from solvent.runs.report import Report
    from solvent.runs.resources.lender import Lender
    from solvent.services import Failure
    from solvent.services.call import Attempt
    from solvent.workflows.model import Service, Workflow
    from solvent.workflows.translate import Concrete

MAX_DEPTH = 400
"""How deep workflows may call each other."""


class Subworkflow:
    """A workflow that a service calls; without `workflow` one in a file that is not here, which only a replay meets."""

    def __init__(self, workflow: Workflow | None, folder: Path | None) -> None:
        self.workflow = workflow
        self.folder = folder
        self.definition = "" if workflow is None else digest_of(workflow)
        #: Whether it begins again if its process dies: what its resources held is not recorded.
        self.begins_again = workflow is not None and bool(workflow.resources)

    def defined(self, blobs: Blobs) -> WorkflowDefined:
        """Return it as an event."""
        workflow = self.workflow
        assert workflow is not None
        text = document_of(workflow)
        return WorkflowDefined(
            self.definition,
            workflow.name,
            tuple(task.name for task in workflow.tasks),
            tuple(workflow.wakers),
            blobs.put_blob(text.encode()) if text else "",
            self.begins_again,
            workflow.signals,
        )


class Inside:
    """Where an execution is that is a sub-workflow."""

    def __init__(self, call: OpenCall, path: str, sub: Subworkflow, lender: Lender | None) -> None:
        self.call = call
        self.path = path
        self.sub = sub
        self.lender = lender
        self.depth = call.instance.depth + 1
        around = call.instance.inside
        #: The services that are called to come here, from outside to inside.
        self.services: tuple[str, ...] = (*(() if around is None else around.services), call.request.service)
        #: Whether other agents may make its calls: not where tasks change what only this process has.
        self.may_spread: bool = (around is None or around.may_spread) and not sub.begins_again
        #: The attempt of the call; nothing while it only happens again.
        self.attempt: Attempt | None = None

    def is_unwanted(self) -> bool:
        """Return whether the call was ended from outside."""
        return self.attempt is not None and self.attempt.over


class Nested:
    """The open sub-workflows of one execution, at any depth; `root` is the outermost one."""

    def __init__(self, root: Execution) -> None:
        #: The reports of all, by their paths, in the order in which they were opened.
        self.reports: dict[str, Report] = {}
        self._root = root
        self._of: dict[OpenCall, Execution] = {}
        self._at: dict[str, Execution] = {}
        #: Those that something has happened to.
        self._touched: dict[Execution, None] = {}
        # Those whose tasks wait for people; signals that came before one was open: for it, or for the next that hears.
        self._listening: dict[Execution, None] = {}
        self._early: dict[str, list[tuple[str, Any]]] = {}
        self._kept: list[tuple[str, Any]] = []
        self._subs: dict[object, Subworkflow] = {}
        self._callers: dict[tuple[int, int], CallMaker] = {}

    def called_by(self, service: Service, folder: Path | None) -> Subworkflow:
        """Return what a service calls; it is looked for once."""
        key = service.function if service.function is not None else (folder, service.target)
        known = id(key) if service.function is not None else key
        if known not in self._subs:
            self._subs[known] = self._found(service, folder)
        return self._subs[known]

    def _found(self, service: Service, folder: Path | None) -> Subworkflow:
        if not self._root.journal.is_read_only:
            return Subworkflow(*workflow_of(service, folder))
        if service.function is None and folder is None:
            return Subworkflow(None, None)
        try:
            return Subworkflow(*workflow_of(service, folder))
        except SolventError:
            return Subworkflow(None, folder)

    # --- What comes.

    def take(self, what: SubworkflowBegan | SubworkflowStopped) -> None:
        """Take what has come of the call of a sub-workflow."""
        instance = self._of.get(what.call)
        if isinstance(what, SubworkflowStopped):
            if instance is not None and instance.inside is not None and instance.inside.attempt is what.attempt:
                self._close(instance)
        elif what.call in self._root.calls.out and not what.attempt.over:
            try:
                self._begin(what.call, what.attempt, instance)
            except SolventError as error:
                if isinstance(error, RecordProblem):
                    raise
                what.attempt.settle(None, failure_of(Told(f"[{error.code}] {error.message}")))

    def _begin(self, call: OpenCall, attempt: Attempt, instance: Execution | None) -> None:
        """Open the sub-workflow of a call, or continue it."""
        path, call.opens = call.opens or self._root.calls.path(call), ""
        if instance is None or instance.within != path:
            if instance is not None:
                self._close(instance)
            instance = self._open(call, path, call.nested)
        assert instance.inside is not None
        instance.inside.attempt = attempt
        observer = None if attempt.seen is None else attempt.seen.inner(instance.workflow.name)
        if observer is not None:
            instance.caller = self._caller(instance, observer=observer)
        self._touched[instance] = None

    def _open(self, call: OpenCall, path: str, sub: Subworkflow | None) -> Execution:
        """Open a sub-workflow, and let it react."""
        from solvent.runs.execution import Execution

        assert sub is not None
        workflow, folder, root = sub.workflow, sub.folder, self._root
        assert workflow is not None
        arguments, keywords = call.given
        if call.instance.depth >= MAX_DEPTH:
            raise WorkflowFailed("W204", f"`{workflow.name}` is called more than {MAX_DEPTH} deep")
        names = list(workflow.inputs)
        if len(arguments) > len(names):
            raise WorkflowProblem("W131", f"`{workflow.name}` has {len(names)} inputs, not {len(arguments)}")
        inputs = {**dict(zip(names, arguments, strict=False)), **keywords}
        lender = lender_of(workflow, inputs, folder)
        inside = Inside(call, path, sub, lender)
        concrete = concretise(workflow, inputs, functions=FUNCTIONS, folder=folder)
        instance = Execution(
            concrete,
            answers=root.calls.answers,
            journal=root.journal,
            folder=folder,
            spectator=self._spectator(call, path, concrete),
            root=root,
            inside=inside,
        )
        if lender is not None:
            lender.open()
        self._of[call] = self._at[path] = instance
        self.reports[path] = instance.report
        instance.caller = self._caller(instance)
        if instance.signals.outside:
            self._listening[instance] = None
        self.react(instance, instance.begin)
        self.reserve(path, workflow)
        for name, value in self._early.pop(path, ()):
            self.react(instance, partial(instance.hear_signal, name, value))
        return instance

    @staticmethod
    def _spectator(call: OpenCall, path: str, concrete: Concrete) -> Spectator | None:
        """Return who watches the execution around a sub-workflow, if that one sees the sub-workflow, too."""
        seen = call.instance.spectator
        names = {symbol: f"{path}/{name}" for symbol, name in concrete.names.items()}
        is_seen = seen is not None and seen.opened(call.instance.solution, call.request.task, concrete.solution, names)
        return seen if is_seen else None

    def _caller(self, instance: Execution, **options: Any) -> CallMaker:
        """Return what makes the calls of a sub-workflow: alike at one depth, unless somebody observes them."""
        assert instance.inside is not None
        inside = instance.inside
        key = id(inside.sub), inside.depth
        found = self._callers.get(key)
        if found is None or options or inside.lender is not None:
            found = self._root.caller.within(
                instance.workflow.services, folder=inside.sub.folder, makers=LAUNCHERS, lender=inside.lender, **options
            )
            if not options and inside.lender is None:
                self._callers[key] = found
        return found

    def react(self, instance: Execution, do: Callable[[], None]) -> None:
        """Let something happen in a sub-workflow, and plan the calls that follow."""
        assert instance.inside is not None
        try:
            with bound(instance):
                do()
                instance.plan_calls()
        except ReactionFailed as error:
            instance.report.error = error
        except Stopped:
            if not instance.inside.is_unwanted():
                raise
        self._touched[instance] = None

    # --- Signals from outside.

    @property
    def listening(self) -> list[Execution]:
        """Those whose tasks may wait for people."""
        return list(self._listening)

    def hear(self, name: str, value: Any, *, is_heard: bool) -> None:
        """Pass a signal to those that are open and wait for it; if none does, keep it for the next one that will."""
        for call in list(self._root.calls.out):
            sub, instance = call.nested, self._of.get(call)
            if sub is None or sub.workflow is None:
                continue
            if instance is not None and call.opens in {"", instance.within}:
                own = _own_signal(name, instance.within, sub.workflow.signals)
                if own:
                    self.react(instance, partial(instance.hear_signal, own, value))
                # One that waits for a signal which does not come any more is stuck.
                self._touched[instance] = None
            else:
                own = _own_signal(name, call.opens, sub.workflow.signals_kept) if call.opens else ""
                if own:
                    self._early.setdefault(call.opens, []).append((own, value))
            is_heard = is_heard or bool(own)
        if not is_heard:
            self._kept.append((name, value))

    def reserve(self, path: str, workflow: Workflow | None) -> None:
        """Pass the signals that were kept to a sub-workflow that is about to be opened, if it waits for them."""
        kept, self._kept = self._kept, []
        for name, value in kept:
            own = "" if workflow is None else _own_signal(name, path, workflow.signals_kept)
            if own:
                self._early.setdefault(path, []).append((own, value))
            else:
                self._kept.append((name, value))

    # --- The past.

    def open_again(self, event: CallStarted) -> None:
        """Open a sub-workflow that was open before."""
        calls = self._root.calls
        call = calls.planned(event.call)
        if call is None:
            raise self._misfit(f"it calls the sub-workflow of `{event.call}`")
        before = self._of.get(call)
        if before is not None:
            self._close(before)
        calls.opened(call)
        sub = self._recorded(call, event.definition)
        try:
            self._open(call, event.opens, sub)
        except RecordProblem:
            raise
        except SolventError:
            # So it did then: its call has failed, and the journal has that.
            return

    def repeat(self, path: str, do: Callable[[Execution], None]) -> None:
        """Do something again in the sub-workflow that has a path."""
        instance = self._at.get(path)
        if instance is None:
            raise self._misfit(f"it has an answer inside `{path}`")
        found = instance
        self.react(found, lambda: do(found))

    def _misfit(self, what: str) -> RecordProblem:
        return RecordProblem(
            "R404",
            f"the record does not fit the workflow `{self._root.workflow.name}`: {what}, which is not called there",
            hint="resume it with the workflow as it was, or run it anew",
        )

    def _recorded(self, call: OpenCall, definition: str) -> Subworkflow:
        """Return a sub-workflow as it was when it was called; a replay needs no file for it."""
        journal, sub = self._root.journal, call.nested
        assert sub is not None
        if sub.definition == definition:
            return sub
        if definition not in self._subs:
            known = journal.definitions.get(definition)
            text = journal.text_of(known) if known is not None and journal.is_read_only else ""
            from solvent.workflows.formats.files import load_text  # what few runs need

            found = load_text(text, name="workflow.json").workflow if text else None
            # Which code it names is said by a record, which may be anybody's.
            if found is None or found.patterns or next(predicates_of(found), None) is not None:
                raise RecordProblem(
                    "R404",
                    f"the sub-workflow `{known.name if known else ''}` of `{call.label}` is not here as it was called",
                    hint="name the file of the workflow as it was: --file WORKFLOW; or run it anew",
                )
            self._subs[definition] = Subworkflow(found, None)
        return self._subs[definition]

    # --- Their ends.

    def settle(self) -> None:
        """End those in which nothing more can happen."""
        touched, self._touched = self._touched, {}
        for instance in touched:
            inside = instance.inside
            if inside is None or inside.attempt is None or self._at.get(inside.path) is not instance:
                continue
            if instance.report.ended_by or instance.report.error or not self._may_go_on(instance):
                self._finish(instance, inside.attempt)

    def _may_go_on(self, instance: Execution) -> bool:
        """Return whether anything can still happen in a sub-workflow."""
        if instance.limits or self._root.calls.has_inside(instance.within):
            return True
        if instance not in self._listening or not (awaited := instance.awaited()):
            return False
        root, path = self._root, instance.within
        return root.journal.is_kept or root.signals.is_coming(
            [*awaited, *((task, f"{path}/{signal}") for task, signal in awaited)]
        )

    def _finish(self, instance: Execution, attempt: Attempt) -> None:
        report = self._close(instance)
        value, failure = self._outcome(instance, report)
        instance.dissolve()
        attempt.settle(value, failure)

    def end(self, call: OpenCall) -> None:
        """End the sub-workflow of a call that has an outcome, if it is still open."""
        instance = self._of.get(call)
        if instance is not None:
            self._close(instance)

    def _close(self, instance: Execution, *, is_cut: bool = False) -> Report:
        """Do nothing more in a sub-workflow, and note how its tasks are."""
        inside, root = instance.inside, self._root
        assert inside is not None
        if root.calls.has_inside(inside.path):
            instance.abandon()
            is_cut = True
        self._forget(instance)
        report = instance.finish()
        report.task = inside.call.label
        # What was called and has not ended was ended with it.
        called = [name for name in report.states if is_cut and report.calls.get(name)]
        gone = [name for name in called if report.states[name] == "waiting"]
        report.states.update(dict.fromkeys(gone, "cancelled"))
        if inside.lender is not None:
            try:
                report.resources, problem = inside.lender.finish()
                report.error = report.error or problem
            finally:
                inside.lender.close()
        self.reports[inside.path] = report
        if inside.attempt is not None:
            root.journal.note(closed_workflow(inside.path, report))
        return report

    def _forget(self, instance: Execution) -> None:
        assert instance.inside is not None
        self._of.pop(instance.inside.call, None)
        self._at.pop(instance.inside.path, None)
        self._listening.pop(instance, None)
        self._touched.pop(instance, None)

    def below(self, instance: Execution) -> list[Execution]:
        """Return the sub-workflows that are open in an execution, at any depth."""
        if instance is self._root:
            return list(self._of.values())
        found = [instance]
        for one in found:
            found += [self._of[call] for call in self._root.calls.inside(one.within) if call in self._of]
        return found[1:]

    def give_up(self, several: Iterable[Execution], *, is_over: bool) -> None:
        """Close those that were abandoned with what is around them, if that is over; else another process continues."""
        for instance in several:
            assert instance.inside is not None
            if is_over:
                self._close(instance, is_cut=True)
            elif instance.inside.lender is not None:
                instance.inside.lender.close()

    def finished(self) -> dict[str, Report]:
        """Return the reports of all, as they stand."""
        for instance in self._at.values():
            report, inside = instance.finish(), instance.inside
            assert inside is not None
            report.task = inside.call.label
        return self.reports

    @staticmethod
    def _outcome(instance: Execution, report: Report) -> tuple[Any, Failure | None]:
        """Return what a sub-workflow came to: its result, or the list of them where there are several."""
        if report.error is not None:
            return None, failure_of(Told(f"[{report.error.code}] {report.error.message}"))
        if not report.succeeded:
            told = _told(report)
            if report.failures:
                told.__cause__ = instance.errors.get(report.failures[0].task)
            return None, failure_of(told)
        return plain_value_of(report, instance.workflow), None


def _own_signal(name: str, path: str, known: Collection[str]) -> str:
    """Return how a sub-workflow calls a signal that is for it: for any that waits for it, or for the one at a path."""
    own = name if name in known else name.removeprefix(f"{path}/")
    return own if own in known else ""


def _told(report: Report) -> Told:
    """Say of which task an inner workflow failed, with the output of that one's service."""
    for first in report.failures:
        if (at := first.cause.find("[W204]")) >= 0:
            # All that are around it would only repeat that they failed.
            return Told(first.cause[at:], first.output)
        return Told(f"[W201] its task `{first.task}` failed: {first.cause}", first.output)
    if report.is_cancelled:
        return Told(f"[W201] its task `{report.ended_by}` has cancelled it")
    return Told(f"[W203] it is stuck: {report.stuck[0]}" if report.stuck else "[W201] it is not done")


def closed_workflow(path: str, report: Report) -> WorkflowClosed:
    """Return how a sub-workflow ended, as an event."""
    return WorkflowClosed(
        within=path,
        at=time.time(),
        states=report.states,
        failures=report.failures,
        stuck=report.stuck,
        ended_by=report.ended_by,
        is_cancelled=report.is_cancelled,
        reactions=report.reactions,
        error="" if report.error is None else f"[{report.error.code}] {report.error.message}",
    )


__all__ = ["MAX_DEPTH", "Inside", "Nested", "Subworkflow", "closed_workflow"]
