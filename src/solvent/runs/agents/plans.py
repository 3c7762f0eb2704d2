"""Runs as agents know them: what is to be run, into which places it is divided, how each place is, and how it ended.

Keys: `runs/RUN/plan` (what is to be run; written once), `runs/RUN/has/K` (the lease of place K), `runs/RUN/is/K` (how
place K is, when nothing more can happen there unless a letter comes), `runs/RUN/part/K` (how its tasks are, when
nothing more can happen at all), `runs/RUN/cannot/AGENT` (places that an agent could not open), `runs/RUN/end` (how the
run ended; written once), `runs/RUN/resumed` (the run that goes on with one that is over; written once). Logs:
`runs/RUN/at/K` (the journal of place K, written by who has it), `news/to/RUN` (what its places say to each other);
`news/submitted` (with the blob that has the plan), `news/over` (nothing more can happen) and `news/finished` have the
names of runs.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import AgentProblem, Conflict, RecordProblem, SolventError, StoreError
from solvent.runs.agents.partition import MAX_PLACES, are_together, divided, places_for
from solvent.runs.agents.parts import merged, part_from, plain_part
from solvent.runs.records.journal import MIN_BLOB_BYTES
from solvent.runs.records.names import claim_for_agents
from solvent.services.failure import legible
from solvent.store.interface import check_name
from solvent.values import codec
from solvent.values.encoding import encode_msgpack
from solvent.values.limits import UNREADABLE, Time
from solvent.workflows.formats.files import load_text
from solvent.workflows.formats.yaml.writer import write_json
from solvent.workflows.translate import task_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.lang.molecule import Molecule
    from solvent.runs.agents.parts import Part
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow

_OF_DATA = frozenset({"E404", "E405", "E406", "E410"})
"""A name that cannot be, too much for the store, missing or damaged."""
NEWS = "news/"
"""All that agents must hear of is below it, so that they read it in one order, and nothing else."""
SUBMITTED, OVER, FINISHED = f"{NEWS}submitted", f"{NEWS}over", f"{NEWS}finished"
MAX_TEXT = 10_000
MAX_DIVISION_BYTES = 64 * 1024
FORMAT = 1
"""What agents of one run must agree on: in which order a place says what, and how all of it is written.

Whoever takes a place over does again what was done there: its letters must come out with the numbers that they had. So
this is raised whenever an agent of today would do again what one of yesterday has done, and come to something else.
`tests/unit/runs/agents/test_format.py` tells when.
"""
_BLOB = b"\xc1blob:"
"""Begins what is a blob's name: no value is written with this byte first."""


class Plan(msgspec.Struct, frozen=True):
    """What is to be run: the workflow as a document (a blob), its inputs, and how it is divided.

    `division` has the place of each task, so that not every agent divides; where there are very many tasks it is empty.
    A run that goes on with another one has that one's name as its `origin`: its calls are called as they were there.
    """

    document: str
    inputs: bytes
    name: str
    places: int
    max_places: int
    created: Time
    division: bytes = b""
    origin: str = ""
    #: Of who has submitted it; before there was any, 0.
    format: int = 0


class Ending(msgspec.Struct, frozen=True):
    """How a run ended: `done`, `failed` or `cancelled`."""

    state: str
    at: Time
    text: str = ""


class Standing(msgspec.Struct, frozen=True):
    """How a place is: where its journal ends, and what it has said and heard."""

    position: int
    said: dict[int, int]
    heard: dict[int, int]


def is_away(error: SolventError) -> bool:
    """Whether the store is out of reach; and not that what is in it, or is to be, cannot be used."""
    return isinstance(error, StoreError) and error.code not in _OF_DATA


def log_at(run: str, place: int) -> str:
    """Name the journal of a place."""
    return f"runs/{run}/at/{place}"


def log_to(run: str) -> str:
    """Name the letters to the places of a run."""
    return f"{NEWS}to/{run}"


def key_of(run: str, what: str, place: int | None = None) -> str:
    """Name a key of a run, or of one of its places."""
    return f"runs/{run}/{what}" if place is None else f"runs/{run}/{what}/{place}"


def submit(
    store: Store,
    run: str,
    workflow: Workflow,
    inputs: Mapping[str, Any] | None,
    *,
    max_places: int | None = None,
    offered: Mapping[str, frozenset[str]] | None = None,
) -> Plan:
    """Have a workflow run by whichever agents there are; `offered` says who offers each service, if that matters."""
    max_places = min(max_places or places_for(workflow), MAX_PLACES)
    document = store.put_blob(write_json(workflow, indent=None).encode())
    try:
        given = codec.encode(dict(inputs or {}))
    except codec.Unrecordable as error:
        raise RecordProblem("R406", f"the inputs of `{workflow.name}` cannot be sent to agents: {error}") from None
    # Where a plan is too large to have its division, everybody divides for himself, and knows nothing of this.
    places = divided(workflow, max_places, offered if len(workflow.tasks) < MAX_DIVISION_BYTES else None)
    max_places = max(max_places, len(places))
    where = {name: number for number, names in enumerate(places) for name in names}
    division = bytes(where[task.name] for task in workflow.tasks) if len(where) < MAX_DIVISION_BYTES else b""
    plan = Plan(document, given, workflow.name, len(places), max_places, time.time(), division, format=FORMAT)
    announce(store, run, plan)
    return plan


def announce(store: Store, run: str, plan: Plan) -> None:
    """Let agents know of a run; raise `Conflict` where its name is another's.

    From the moment it is in the log it is a run: should whoever announces it die there, agents write its plan.
    """
    data = encode_msgpack(plan)
    blob = store.put_blob(data)
    claim_for_agents(store, run)
    store.append(SUBMITTED, f"{run} {blob}".encode())
    try:
        store.put(key_of(run, "plan"), data, expected=0)
    except Conflict:
        # An agent may have been quicker.
        entry = store.get(key_of(run, "plan"))
        if entry is None or entry.value != data:
            raise


def announced(data: bytes) -> tuple[str, str]:
    """Give the name of a run that was announced, empty where it is none, and the blob that has its plan, if any."""
    name, _, blob = data.partition(b" ")
    return name_from(name), blob.decode(errors="replace")


def announced_plan(store: Store, run: str, blob: str) -> Plan | None:
    """Give the plan of a run that was announced; write it, where who has announced it did not come to that."""
    plan = plan_of(store, run)
    if plan is None and blob:
        with suppress(Conflict):
            store.put(key_of(run, "plan"), store.get_blob(blob), expected=0)
        plan = plan_of(store, run)
    return plan


def refuse_format(plan: Plan) -> None:
    """Raise `AgentProblem` A110 for a run that agents of this version of Solvent must not have a part in."""
    if plan.format != FORMAT:
        other = "a later" if plan.format > FORMAT else "an earlier"
        said = f"it was submitted by {other} version of Solvent (format {plan.format}, and here {FORMAT})"
        raise AgentProblem("A110", said, hint="start agents of that version, or submit the workflow again")


def plan_of(store: Store, run: str) -> Plan | None:
    """Give the plan of a run, if there is such a run."""
    entry = store.get(key_of(run, "plan"))
    if entry is None:
        return None
    try:
        plan = msgspec.msgpack.decode(entry.value, type=Plan)
    except UNREADABLE as error:
        raise RecordProblem("R403", f"the plan of `{run}` does not read: {error}") from None
    if not (1 <= plan.places <= plan.max_places <= MAX_PLACES):
        raise RecordProblem("R403", f"the plan of `{run}` does not read: {plan.places} places")
    return plan


def workflow_of(store: Store, plan: Plan) -> Workflow:
    """Give the workflow of a plan, with its services as they were submitted."""
    try:
        text = store.get_blob(plan.document).decode()
    except UnicodeDecodeError:
        raise RecordProblem("R403", f"the workflow `{plan.name}` does not read: it is no text") from None
    return load_text(text, name=f"{plan.name}.json").workflow


def places_of(workflow: Workflow, plan: Plan) -> tuple[list[frozenset[str]], dict[Molecule, int]]:
    """Give the tasks of each place, and the place of each task."""
    places = _division(workflow, plan) if plan.division else divided(workflow, plan.max_places)
    if len(places) != plan.places or not are_together(workflow, places):
        raise RecordProblem("R403", f"the plan of `{plan.name}` does not fit: it has {plan.places} places")
    where = {task_symbol(name): number for number, names in enumerate(places) for name in names}
    return [frozenset(names) for names in places], where


def _division(workflow: Workflow, plan: Plan) -> list[list[str]]:
    """Give the division that a plan has; no places, if that is none of this workflow."""
    if len(plan.division) != len(workflow.tasks) or {*plan.division} != {*range(plan.places)}:
        return []
    places: list[list[str]] = [[] for _ in range(plan.places)]
    for task, place in zip(workflow.tasks, plan.division, strict=True):
        places[place].append(task.name)
    return places


def ending_of(store: Store, run: str) -> Ending | None:
    """Say how a run ended, if it did."""
    entry = store.get(key_of(run, "end"))
    if entry is None:
        return None
    try:
        return msgspec.msgpack.decode(entry.value, type=Ending)
    except UNREADABLE as error:
        raise RecordProblem("R403", f"how `{run}` ended does not read: {error}") from None


def damaged_lease(run: str, place: int, error: StoreError) -> RecordProblem:
    """Say that the key which tells who has a place does not read, and what to do: no agent takes a place by guess."""
    key = key_of(run, "has", place)
    said = f"the lease `{key}` is damaged, and no agent can take place {place} of {run}: {error.message}"
    hint = (
        f"delete this key, in Python by `solvent.store.open_store(STORE).delete({key!r})`: agents then go on from "
        f"the journal; or `solvent cancel {run}`, and submit the workflow again"
    )
    return RecordProblem("R403", said, hint=hint)


def successor_of(store: Store, run: str) -> str:
    """Name the run that goes on with a run that is over, if one does."""
    entry = store.get(key_of(run, "resumed"))
    return "" if entry is None else name_from(entry.value)


def name_from(data: bytes) -> str:
    """Give the name of a run that a log has; empty where it is none: anybody who can write may have written it."""
    try:
        name = check_name(data.decode())
    except (UnicodeDecodeError, StoreError):
        return ""
    return "" if "/" in name else name


def end(store: Store, run: str, state: str, text: str = "") -> bool:
    """Let a run be over; tell whether it was this that ended it."""
    ending = Ending(state, time.time(), legible(text[:MAX_TEXT]))
    try:
        store.put(key_of(run, "end"), encode_msgpack(ending), expected=0)
    except Conflict:
        # Who ended it may have died before it said so.
        store.append(FINISHED, run.encode())
        return False
    store.append(FINISHED, run.encode())
    return True


def standings(store: Store, run: str) -> dict[int, Standing]:
    """Say how the places of a run are, as far as they have told."""
    below = key_of(run, "is") + "/"
    found = {}
    for key, entry in store.keys(below).items():
        # What does not read was not told by an agent.
        with suppress(*UNREADABLE):
            found[int(key.removeprefix(below))] = msgspec.msgpack.decode(entry.value, type=Standing)
    return found


def publish(store: Store, run: str, place: int, part: Part) -> None:
    """Tell how the tasks of a place are, when nothing more can happen."""
    data = codec.pieces(plain_part(part))
    said = b"".join(data) if len(data) < MIN_BLOB_BYTES else _BLOB + store.put_blob(data).encode()
    store.put(key_of(run, "part", place), said)


def report_of(store: Store, run: str, workflow: Workflow, places: int) -> Report | None:
    """Give the report of a run, if all places have told how their tasks are."""
    found = store.keys(key_of(run, "part") + "/")
    if len(found) < places:
        return None
    try:
        return merged(workflow, [_part(store, entry.value) for entry in found.values()])
    except (*UNREADABLE, TypeError, KeyError) as error:
        raise RecordProblem("R403", f"how the tasks of a place are does not read: {error}") from None


def _part(store: Store, data: bytes) -> Part:
    if data.startswith(_BLOB):
        data = store.get_blob(data.removeprefix(_BLOB).decode())
    return part_from(codec.decode(data))


def is_over(found: Mapping[int, Standing], places: int) -> bool:
    """Whether nothing more can happen: all places have told, and each has heard what the others have said.

    They have told at different times. But who has said or heard more since was not idle for nothing: somebody had said
    something to it that it had not heard, and the numbers differ.
    """
    if len(found) < places:
        return False
    return all(
        one.said.get(to, 0) == other.heard.get(number, 0)
        for number, one in found.items()
        for to, other in found.items()
    )


__all__ = [
    "FINISHED", "FORMAT", "NEWS", "OVER", "SUBMITTED", "Ending", "Plan", "Standing", "announce", "announced",
    "announced_plan", "damaged_lease", "end", "ending_of", "is_away", "is_over", "key_of", "log_to", "name_from",
    "places_of", "plan_of", "publish", "refuse_format", "report_of", "standings", "submit", "successor_of",
    "workflow_of",
]  # fmt: skip
