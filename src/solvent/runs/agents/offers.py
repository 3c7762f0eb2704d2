"""What an agent is ready to run: the services, conditions and rule libraries of the files that it was started with.

A workflow that comes from the store is data which somebody has written. It names commands, functions and files; an
agent that ran whatever is named would give its machine to everybody who can write to the store. So each name is looked
up here, and only what is the same as in one of the agent's own files is run, as it is there.
"""

from __future__ import annotations

import hashlib
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from solvent.errors import AgentProblem, RecordProblem, WorkflowProblem
from solvent.runs.conditions import predicates_of
from solvent.workflows.formats.yaml.writer import name_of_function, plain_workflow
from solvent.workflows.model import Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from solvent.workflows.model import Service

ALONE = "run it without agents: `solvent run WORKFLOW`"
MARK_CHARACTERS = 12


class Offers:
    """The services that an agent was started with, and where it looks for their programs and modules."""

    def __init__(
        self,
        services: Mapping[str, Service],
        folder: Path | None = None,
        *,
        predicates: Iterable[str] = (),
        libraries: Iterable[str] = (),
        trusts_all: bool = False,
    ) -> None:
        """`predicates` are functions, as `module:name`, and `libraries` files that workflows may name besides."""
        self.services = dict(services)
        self.folder = folder
        self.predicates = frozenset(predicates)
        self.libraries = frozenset(libraries)
        self.trusts_all = trusts_all

    def of(self, service: Service) -> Service | None:
        """Give what is to be called for a service of a workflow that somebody has submitted; nothing if it is not here.

        It must be the same service: whoever submits a workflow cannot have an agent run another command.
        """
        own = self.services.get(service.name)
        if own is not None:
            what = _what(own)
            if what is not None and what == _what(service):
                return replace(own, policy=service.policy)
        return service if self.trusts_all else None

    def refuse(self, workflow: Workflow) -> None:
        """Raise `AgentProblem` for what no agent may do (A101), and for code that this one does not offer (A102)."""
        refuse_what_agents_cannot(workflow)
        if self.trusts_all:
            return
        if what := self.unknown_code(workflow):
            raise AgentProblem("A102", f"{what} is in none of the files that this agent was started with")

    def unknown_code(self, workflow: Workflow) -> str:
        """Give the first function or file besides services that a workflow names and that is not here, if any."""
        predicates = (f"the condition `{one}`" for one in predicates_of(workflow) if one not in self.predicates)
        libraries = (f"the rule library `{one}`" for one in workflow.patterns.values() if one not in self.libraries)
        inner = (self.unknown_code(one.function) for one in workflow.services if isinstance(one.function, Workflow))
        return next(chain(predicates, libraries, filter(None, inner)), "")

    def marks(self) -> dict[str, str]:
        """Give the names of the services, each with a mark by which others see whether it is the same as theirs."""
        return {name: mark for name, one in self.services.items() if (mark := mark_of(one))}


def offers_of(workflows: Iterable[Workflow], folder: Path | None = None, *, trusts_all: bool = False) -> Offers:
    """Offer what workflows call; two services of the same name must be the same."""
    services: dict[str, Service] = {}
    predicates, libraries = set[str](), set[str]()
    for workflow in workflows:
        for one in workflow.services:
            if one.name in services and _what(services[one.name]) != _what(one):
                hint = "give one of them another name, or start an agent for each"
                raise AgentProblem("A103", f"two of the files have different services `{one.name}`", hint=hint)
            services[one.name] = one
        predicates |= set(predicates_of(workflow))
        libraries |= set(workflow.patterns.values())
    return Offers(services, folder, predicates=predicates, libraries=libraries, trusts_all=trusts_all)


def refuse_what_agents_cannot(workflow: Workflow) -> None:
    """Raise `AgentProblem` A101 for a workflow that changes or writes files: agents may be at several hosts."""
    for one in workflow.resources:
        if one.file or one.save:
            said = f"`{workflow.name}` cannot be given to agents: its resource `{one.name}` is in a file of one host"
            raise AgentProblem("A101", said, hint=f"give it a `size` or a `shape` and no file; or {ALONE}")


def refuse_code(run: str, workflow: Workflow, offers: Offers, *, command: str = "replay") -> None:
    """Raise `RecordProblem` R406 where functions would be called that are not offered: a record may be anybody's."""
    if what := offers.unknown_code(workflow):
        said = f"the run `{run}` goes by {what}, and only its own files say what that is"
        raise RecordProblem("R406", said, hint=f"`solvent {command} {run} --file WORKFLOW`")


def mark_of(service: Service) -> str:
    """Give a mark that two services share if they call the same; empty for one that nobody else can call."""
    what = _what(service)
    if what is None:
        return ""
    return hashlib.sha256(msgspec.json.encode(what, order="sorted")).hexdigest()[:MARK_CHARACTERS]


def _what(service: Service) -> tuple[Any, ...] | None:
    """Say what a service calls, in words that another process understands; nothing if there are none."""
    function, target = service.function, service.target
    try:
        if isinstance(function, Workflow):
            return service.kind, plain_workflow(function), service.method, service.options
        if function is not None:
            target = name_of_function(function)
    except WorkflowProblem:
        return None
    return service.kind, target, service.method, service.options


__all__ = ["ALONE", "Offers", "mark_of", "offers_of", "refuse_code", "refuse_what_agents_cannot"]
