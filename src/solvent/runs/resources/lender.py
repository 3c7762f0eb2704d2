"""Lends the resources of a run to its calls.

    lender = lender_of(workflow, inputs, folder)
    with while_lending(lender, report):       # opens a space, and makes the data
        function = lender.lent("sweep", sweep)
        function(Claim("grid"), 3)            # gets the lock; calls sweep(array, 3); hands on what it changed

The run has a space of its own (`handover`). The main process is in it as long as the run lasts, and so is every
process that borrows something, from then on: threads use the space of their process, a worker process enters it with
the first call that needs it. So the lock goes straight from one process to the next, and the data stays where it is,
in memory that all of them have mapped.

A call hands on what it has changed only if it succeeds and its success counts (`sealed`). Otherwise the loan is
withdrawn, and the resource is what it was before; so it is if the process dies. Without undo there is nothing to go
back to: what a failed call had changed stays changed, and a process that dies takes the resource along.

At agents the journal has what each call has changed, with its answer. Whoever takes the shard of the run makes the data
anew, of what the journal has: so a call that is made again begins from what the calls with an answer have left.

Runs without resources import this module and nothing that it needs.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from solvent.errors import DataLost, SolventError, WorkflowProblem, install_hint
from solvent.services.current_call import begun, sealed
from solvent.services.function_codec import pack_function, unpack_function
from solvent.workflows.model import Claim, Resource, faults_of, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from solvent.runs.report import Report
    from solvent.runs.resources.loans import Loan
    from solvent.workflows.model import Task, Workflow


def lender_of(
    workflow: Workflow, inputs: Mapping[str, Any] | None, folder: Path | None, *, is_noted: bool = False
) -> Lender | None:
    """Return what lends the resources of a workflow, if it has any; see `Lender` for `is_noted`."""
    return Lender(workflow, inputs, folder, is_noted=is_noted) if workflow.resources else None


@contextmanager
def while_lending(lender: Lender | None, report: Report) -> Iterator[None]:
    """Have resources for as long as calls are made; what they hold in the end is saved and reported."""
    if lender is None:
        yield
        return
    lender.open()
    try:
        yield
        report.resources, problem = lender.finish()
        report.error = report.error or problem
    finally:
        lender.close()


def claimed(task: Task, values: list[Any]) -> list[Any]:
    """Put the claims of a task in their places among the values that it is called with."""
    if not any(isinstance(slot, Claim) for slot in task.slots):
        return values
    return [slot if isinstance(slot, Claim) else value for slot, value in zip(task.slots, values, strict=True)]


class Estate(msgspec.Struct, frozen=True):
    """The space of a run and the resources in it: all that a process must know to borrow."""

    resources: tuple[Resource, ...]
    #: Whether what calls change is noted with their answers.
    is_noted: bool = False
    space: str = ""
    secret: bytes = b""


_HINTS = {
    "D211": "make room there, or have it in a file (`file:`) on a disk that has more",
    "D213": "name a file that is there, or say how long it is to be (`size:`, or `shape:`): then it is made",
}
"""What those who write workflows can do about data that cannot be made."""


class Lender:
    """The resources of one run."""

    def __init__(
        self, workflow: Workflow, inputs: Mapping[str, Any] | None, folder: Path | None, *, is_noted: bool = False
    ) -> None:
        """With `is_noted` what a call changes comes with its answer, so that another process can make it anew."""
        self.services: Collection[str] = frozenset(task.service for task in workflow.tasks if task.claims)
        resources = tuple(_found(one, folder) for one in settled_resources(workflow, inputs))
        self.estate = Estate(resources, is_noted)
        kinds = {one.name: one.kind for one in workflow.services}
        taken = {
            claim.resource for task in workflow.tasks if kinds.get(task.service) == "python" for claim in task.claims
        }
        if find_spec("numpy") is None:
            for one in resources:
                if one.shape is not None and one.name in taken:
                    message = f"the resource `{one.name}` is an array, and NumPy is not installed"
                    hint = f"{install_hint('arrays')}; or give it a `size`"
                    raise WorkflowProblem("W163", message, hint=hint)

    def open(self, changes: Sequence[tuple[str, int, bytes]] = ()) -> None:
        """Open a new space, and make the data, with the changes that calls have made before."""
        from solvent.runs.resources.loans import branch_of

        self.close()
        # What was lent before cannot be kept here: that was another space.
        name, secret = f"workflow {secrets.token_hex(12)}", secrets.token_bytes(16)
        self.estate = msgspec.structs.replace(self.estate, space=name, secret=secret)
        branch = branch_of(self.estate, is_main=True)
        try:
            for resource in self.estate.resources:
                branch.make(resource, [(start, data) for name, start, data in changes if name == resource.name])
        except SolventError as problem:
            self.close()
            message = f"the resource `{resource.name}` cannot be made: {problem.message}"
            raise WorkflowProblem("W163", message, hint=_HINTS.get(problem.code, problem.hint)) from problem
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the space; what is not saved is gone then."""
        from solvent.runs.resources.loans import close_branch

        close_branch(self.estate.space)

    def finish(self) -> tuple[dict[str, Any], WorkflowProblem | None]:
        """Give what the resources hold, and save what is to be saved; also the first problem with that."""
        from solvent.runs.resources.loans import branch_of, lost, opened, save

        branch, found, first = branch_of(self.estate), {}, None
        for resource in self.estate.resources:
            try:
                with branch.reading(resource) as path:
                    found[resource.name] = opened(resource, path)
                if resource.save:
                    save(resource, found[resource.name])
            except WorkflowProblem as problem:
                first = first or problem
            except DataLost:
                first = first or WorkflowProblem("W163", lost(resource.name))
            except TimeoutError:
                message = f"the resource `{resource.name}` is still in use by a function that was given up"
                first = first or WorkflowProblem("W163", message, hint="worker processes can be ended: `--processes`")
            except SolventError as problem:
                message = f"what the resource `{resource.name}` holds is not known: {problem.message}"
                first = first or WorkflowProblem("W163", message)
        return found, first

    # --- For those that call.

    def lent(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Make a function that takes claims of one that takes the data; it can be sent to worker processes."""
        return Borrower(name, function, self)

    def lent_awaited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Make the same of an asynchronous function."""

        async def call(*arguments: Any, **keywords: Any) -> Any:
            loan = _loan(self.estate, arguments, keywords)
            try:
                await _in_thread(loan.enter)
                begun()
                value = loan.owned(await function(*loan.arguments, **loan.keywords))
                if sealed():
                    value = await _in_thread(partial(loan.keep, value))
            finally:
                await _in_thread(loan.end)
            return value

        return call

    def paths(self, arguments: list[Any], keywords: dict[str, Any]) -> Loan:
        """Lend the files of what is claimed."""
        return _loan(self.estate, arguments, keywords, as_paths=True)


class Owner(Protocol):
    """Whoever has an estate: it may be another one later."""

    @property
    def estate(self) -> Estate:
        """What calls borrow of now."""


class _Copy(NamedTuple):
    """The owner in a worker process."""

    estate: Estate


class Borrower:
    """A function that borrows what its call claims; a worker process makes it anew of its parts."""

    def __init__(self, name: str, function: Callable[..., Any], owner: Owner) -> None:
        self._name = name
        self._function = function
        self._owner = owner

    def __reduce__(self) -> tuple[Any, ...]:
        return _borrower, (self._name, pack_function(self._name, self._function), self._owner.estate)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Borrow, call, and give back."""
        with _loan(self._owner.estate, arguments, keywords) as loan:
            begun()
            value = loan.owned(self._function(*loan.arguments, **loan.keywords))
            if sealed():
                value = loan.keep(value)
        return value


def _borrower(name: str, packed: bytes, estate: Estate) -> Borrower:
    return Borrower(name, unpack_function(packed), _Copy(estate))


def _loan(estate: Estate, arguments: Iterable[Any], keywords: Mapping[str, Any], *, as_paths: bool = False) -> Loan:
    from solvent.runs.resources.loans import Loan

    return Loan(estate, arguments, keywords, as_paths=as_paths)


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Do what waits, to its end even if the call is cancelled meanwhile: nothing may be left half borrowed."""
    import asyncio

    doing = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait([doing])
        raise


def settled_resources(workflow: Workflow, inputs: Mapping[str, Any] | None) -> list[Resource]:
    """Return the resources of a workflow with these inputs; raise `WorkflowProblem` W161 for one that cannot be."""
    values = {**workflow.inputs, **(inputs or {})}
    found = [settled(one, values) for one in workflow.resources]
    for one in found:
        for fault, hint in faults_of(one):
            raise WorkflowProblem("W161", f"the resource `{one.name}` {fault}", hint=hint)
    return found


def _found(resource: Resource, folder: Path | None) -> Resource:
    """Find the files of a resource, from the workflow's folder."""
    paths = {key: getattr(resource, key) for key in ("file", "save")}
    return msgspec.structs.replace(
        resource, **{key: str(((folder or Path()) / path).absolute()) for key, path in paths.items() if path}
    )


__all__ = ["Borrower", "Estate", "Lender", "claimed", "lender_of", "settled_resources", "while_lending"]
