"""The register of runs: a store has one key `runs/NAME` for each run, embedded or run by agents.

The record of a run says what is run, how it is divided into shards, and how it ended. It is created and changed by
compare-and-set, so names are unique and a version ends once. What happens in between is in the journals of the shards
(`runs/NAME/shard/K`), and their leases (`runs/NAME/lease/K`) name the agents that host them. A run that is continued
with another workflow, or without some of its answers, gets a further version: the names of that version's journals,
leases and messages begin with `NAME/VERSION-BRANCH` instead of `NAME` (`RunRecord.prefix`), and the record says which
version counts.

A run of agents is also announced to them (`messages/agents/submitted`), before its record is made. The announcement
names a blob with the record: if the submitting process dies in between, an agent makes the record.
"""

from __future__ import annotations

import hashlib
import marshal
import re
import secrets
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from solvent.errors import Conflict, RecordProblem, StoreError, WorkflowProblem, nearest
from solvent.runs.kept import Kept, keep
from solvent.services.failure import legible
from solvent.store.interface import check_name
from solvent.values import codec
from solvent.values.encoding import encode_msgpack, encoder
from solvent.values.limits import UNREADABLE, Time
from solvent.workflows.shards import MAX_SHARDS, are_together, divided

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.lang.molecule import Molecule
    from solvent.store import Store
    from solvent.workflows.model import Workflow

FORMAT = 6
"""What all processes of a run must agree on: in which order a shard reacts, and how its record is written.

An agent that continues a shard repeats what was done there, and its messages must get the numbers that they had. So
this number is raised whenever a process would repeat the work of an older version of Solvent with another result;
`tests/unit/runs/agents/test_format.py` fails then.
"""
MAX_TEXT = 10_000
MESSAGES = "messages/"
"""All that agents must hear of is below it, so that they read it in one order, and nothing else."""
SUBMITTED, OVER, FINISHED = (f"{MESSAGES}agents/{one}" for one in ("submitted", "over", "finished"))
NAME_RULE = "letters, digits and _ . = - only, at most 100"
State: TypeAlias = Literal["running", "done", "failed", "cancelled", "pruned"]
_ENDED = ("done", "failed", "cancelled", "pruned")
_NAME = re.compile(r"[A-Za-z0-9_.=-]{1,100}")
_PREFIX = re.compile(r"[^/]+(/[0-9]+-[0-9a-f]+)?")
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
_ENDING_CHARACTERS = 4
_MAX_NAME_CHARACTERS = 40
_RUNS = "runs/"
_RESOURCES = "its tasks change resources in place, and what is in those is not recorded"


class KeptOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options of a run that matter when it is continued."""

    jobs: int | None = None
    processes: bool = False
    scale: float | None = None
    #: Signals, as `codec.encode` writes them.
    signals: bytes = b""
    #: Where the files that the workflow names are, if not beside its own.
    folder: str = ""
    #: In how many seconds it must end, if not as its workflow says.
    deadline: float | None = None
    #: Whether results of all services are shared with other runs.
    cache: bool = False


class RunRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a run without its journals."""

    run: str
    workflow: str
    created: Time
    #: The `FORMAT` of the process that made it.
    format: int
    digest: str
    tasks: int
    #: The names of its tasks, a list as msgpack.
    names: Kept
    #: The inputs, as `codec.encode` writes them.
    inputs: Kept = Kept()
    #: The blob that has the workflow as JSON; nothing where a file cannot say it.
    document: str = ""
    state: State = "running"
    ended: Time = 0.0
    #: Why it ended, where its journals do not tell.
    why: str = ""
    #: The file as it was given, and the folder in which that was.
    file: str = ""
    folder: str = ""
    options: KeptOptions = KeptOptions()
    #: Why it cannot be continued if it is stopped.
    hindrance: str = ""
    #: Whether agents run it.
    by_agents: bool = False
    shards: int = 1
    max_shards: int = 1
    #: The shard of each task, so that not every agent divides; empty where there are very many tasks.
    division: bytes = b""
    #: The signals that its tasks wait for, and those of sub-workflows; and whether any may wait for one.
    signals: tuple[str, ...] = ()
    may_hear: bool = False
    #: Each time a run is continued otherwise than it was it has a further version, with journals of its own (`prefix`).
    version: int = 1
    #: A random text, which tells this version from others of the same number that processes have tried to make.
    branch: str = ""
    #: The blob with answers of the version before whose calls may still come (see `versions`).
    pool: str = ""
    #: When it must have ended; 0 where it may take its time.
    deadline: Time = 0.0
    #: The process that is about to make a further version of it: meanwhile nothing begins (see `continuation`).
    updater: str = ""

    @property
    def prefix(self) -> str:
        """What the names of its journals, messages and leases begin with: no two versions share any."""
        return f"{self.run}/{self.version}-{self.branch}" if self.branch else self.run

    @property
    def has_ended(self) -> bool:
        """Whether nothing more can happen."""
        return self.state in _ENDED

    @property
    def is_late(self) -> bool:
        """Whether its deadline has passed before it ended."""
        return 0.0 < self.deadline <= (self.ended if self.has_ended else time.time())

    @property
    def lasted(self) -> float:
        """For how many seconds it has been there, by the clocks of the processes that created and ended it."""
        return max(0.0, (self.ended if self.has_ended else time.time()) - self.created)


# ------------------------------------------------------------------------------------------------------- keys


def key_of(prefix: str, what: str = "", shard: int | None = None) -> str:
    """Return the key of a run, of something below a version of it, or of one of its shards."""
    key = f"{_RUNS}{prefix}/{what}" if what else f"{_RUNS}{prefix}"
    return key if shard is None else f"{key}/{shard}"


def journal_of(prefix: str, shard: int = 0) -> str:
    """Return the log that is the journal of a shard."""
    return f"{_RUNS}{prefix}/shard/{shard}"


def messages_of(prefix: str) -> str:
    """Return the log of the messages between the shards of a version of a run."""
    return f"{MESSAGES}runs/{prefix}"


def run_at(prefix: str) -> str:
    """Return the run that has the version with a prefix."""
    return prefix.partition("/")[0]


def calls_of(prefix: str) -> str:
    """Return the log of the calls that agents make for shards at other agents."""
    return f"{MESSAGES}calls/{prefix}"


def is_name(text: str) -> bool:
    """Return whether a run can be called so: there is room in a store's names for what comes behind."""
    return _NAME.fullmatch(text) is not None


def new_name(workflow: str) -> str:
    """Make a name that people can read, type and tell from others."""
    words = re.sub(r"[^a-z0-9]+", "-", workflow.lower())[:_MAX_NAME_CHARACTERS].strip("-")
    return f"{words or 'run'}-{''.join(secrets.choice(_LETTERS) for _ in range(_ENDING_CHARACTERS))}"


def prefix_from(data: bytes) -> str:
    """Return the prefix that a log has; empty where it is none: anybody who can write may have written it."""
    try:
        prefix = check_name(data.decode())
    except (UnicodeDecodeError, StoreError):
        return ""
    return prefix if _PREFIX.fullmatch(prefix) else ""


# --------------------------------------------------------------------------------------------- making and changing


def new_record(
    store: Store,
    run: str,
    workflow: Workflow,
    inputs: Mapping[str, Any] | None = None,
    *,
    options: KeptOptions = KeptOptions(),  # noqa: B008 - it cannot change
    **facts: Any,
) -> RunRecord:
    """Return the record of a run that is to begin; its name is free or not, which `create` finds out."""
    # Agents note what calls change.
    hindrance = _RESOURCES if workflow.resources and not facts.get("by_agents") else ""
    given = Kept()
    try:
        given = keep(store, codec.encode(dict(inputs or {})))
    except codec.Unrecordable as error:
        hindrance = f"its inputs are not all data: {error}"
    document = document_of(workflow)
    created, seconds = time.time(), options.deadline or workflow.deadline
    return RunRecord(
        run=run,
        workflow=workflow.name,
        created=created,
        format=FORMAT,
        digest=digest_of(workflow),
        tasks=len(workflow.tasks),
        names=keep(store, encode_msgpack([task.name for task in workflow.tasks])),
        inputs=given,
        document=store.put_blob(document.encode()) if document else "",
        hindrance=hindrance,
        signals=workflow.signals_heard,
        may_hear=workflow.may_hear,
        options=options,
        deadline=created + seconds if seconds else 0.0,
        **facts,
    )


def create(store: Store, record: RunRecord) -> int:
    """Make a run, and return the revision of its record; raise `Conflict` where there is one of its name."""
    return store.put(key_of(record.run), encode_msgpack(record), expected=0)


def announce(store: Store, record: RunRecord) -> None:
    """Make a run, and let agents know of it; raise `Conflict` where its name is another's."""
    if store.get(key_of(record.run)) is not None:
        raise Conflict(key_of(record.run), expected=0, last=1)
    tell_agents(store, record)
    try:
        create(store, record)
    except Conflict:
        # An agent may have been quicker, and the run may even have ended.
        found = record_of(store, record.run)
        own = record.created, record.digest, record.inputs
        if found is None or (found.created, found.digest, found.inputs) != own:
            raise


def tell_agents(store: Store, record: RunRecord) -> None:
    """Let agents know of a run, once more if need be."""
    store.append(SUBMITTED, f"{record.prefix} {store.put_blob(encode_msgpack(record))}".encode())


def announced(data: bytes) -> tuple[str, str]:
    """Return the prefix that was announced, empty where it is none, and the blob with its record, if any."""
    name, _, blob = data.partition(b" ")
    return prefix_from(name), blob.decode(errors="replace")


def announced_record(store: Store, prefix: str, blob: str) -> RunRecord | None:
    """Return the record of a run that was announced, unless another version of it counts.

    Make the record if the process that announced it died before it did.
    """
    run = run_at(prefix)
    record = record_of(store, run)
    if record is None and blob and run == prefix:
        with suppress(Conflict):
            store.put(key_of(run), store.get_blob(blob), expected=0)
        record = record_of(store, run)
    return record if record is not None and record.prefix == prefix else None


def change(store: Store, run: str, make: Callable[[RunRecord], RunRecord | None]) -> RunRecord | None:
    """Change the record of a run, however many do so; `make` returns nothing where it is to stay as it is."""
    while True:
        entry = store.get(key_of(run))
        if entry is None:
            return None
        record = make(_decoded(run, entry.value))
        if record is None:
            return None
        with suppress(Conflict):
            store.put(key_of(run), encode_msgpack(record), expected=entry.revision)
            return record


def set_deadline(store: Store, run: str, seconds: float) -> RunRecord:
    """Have a run end in so many seconds from now, and return its record; one that has ended stays as it is."""

    def changed(record: RunRecord) -> RunRecord | None:
        options = msgspec.structs.replace(record.options, deadline=seconds)
        return (
            None
            if record.has_ended
            else msgspec.structs.replace(record, options=options, deadline=time.time() + seconds)
        )

    return change(store, run, changed) or existing(store, run)


def end_update(store: Store, run: str, updater: str) -> RunRecord | None:
    """Let a run go on as it is that somebody was to update; return its record if it was changed."""
    return change(store, run, lambda one: msgspec.structs.replace(one, updater="") if one.updater == updater else None)


def end(store: Store, prefix: str, state: State, why: str = "") -> bool:
    """End a version of a run; return whether this call ended it. The agents that run it notice, and leave it."""
    at, text, run = time.time(), legible(why[:MAX_TEXT]), run_at(prefix)

    def ended(record: RunRecord) -> RunRecord | None:
        if record.has_ended or record.prefix != prefix:
            return None
        return msgspec.structs.replace(record, state=state, ended=at, why=text)

    try:
        is_first = change(store, run, ended) is not None
    except RecordProblem:
        # Its record was damaged meanwhile: agents leave it alone, and have others.
        is_first = False
    # Who ended it may have died before it said so.
    store.append(FINISHED, prefix.encode())
    return is_first


# ------------------------------------------------------------------------------------------------------- finding


def record_of(store: Store, run: str) -> RunRecord | None:
    """Return the record of a run, if there is such a run; raise `RecordProblem` R403 if it does not read."""
    entry = store.get(key_of(run))
    return None if entry is None else _decoded(run, entry.value)


def existing(store: Store, run: str) -> RunRecord:
    """Return the record of a run; raise `RecordProblem` R401 where there is none."""
    record = record_of(store, run)
    if record is None or record.state == "pruned":
        raise RecordProblem("R401", f"there is no run `{run}` in {store.url}")
    return record


def list_runs(store: Store, damaged: dict[str, str] | None = None, *, is_pruned: bool = False) -> list[RunRecord]:
    """Return the records of all runs, the latest last; `damaged` gets the names of those that do not read, and why.

    With `is_pruned` also those that are being removed.
    """
    found = []
    for key, entry in store.keys(_RUNS).items():
        if key.count("/") == 1:
            run = key.removeprefix(_RUNS)
            try:
                found.append(_decoded(run, entry.value))
            except RecordProblem as error:
                # The others are none the worse for it.
                if damaged is not None:
                    damaged[run] = error.message
    return sorted(
        (one for one in found if is_pruned or one.state != "pruned"), key=lambda record: (record.created, record.run)
    )


def find(store: Store, name: str) -> RunRecord:
    """Find a run by its name, or by the beginning of it that no other run has."""
    record = record_of(store, name) if is_name(name) else None
    if record is not None and record.state != "pruned":
        return record
    matches = [one for one in list_runs(store) if name and one.run.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    raise _unknown(store, name)


def latest(store: Store, is_wanted: Callable[[RunRecord], bool] = lambda _: True) -> RunRecord:
    """Return the run that began last, of those that are wanted; of all, if there are none of these."""
    records = list_runs(store)
    if not records:
        raise RecordProblem("R401", f"there are no runs in {store.url}", hint="`solvent run WORKFLOW` makes one")
    return ([one for one in records if is_wanted(one)] or records)[-1]


def names_in(store: Store) -> list[str]:
    """Return the names of all runs in a store: of workflows, and of programs over nodes."""
    from solvent.runs.nodes.shared import PROGRAMS  # what nodes need is asked for by few who look for a run

    found: dict[str, int] = {}
    records = {key: entry for key, entry in store.keys(_RUNS).items() if key.count("/") == 1}
    for key, entry in {**records, **store.keys(PROGRAMS)}.items():
        name = key.split("/")[1]
        found[name] = min(entry.revision, found.get(name, entry.revision))
    return sorted(found, key=found.__getitem__)


def task_names(store: Store, record: RunRecord) -> tuple[str, ...]:
    """Return the names of a run's tasks."""
    try:
        return msgspec.msgpack.decode(record.names.read(store), type=tuple[str, ...])
    except UNREADABLE as error:
        raise _damaged(record.run, f"its tasks: {error}") from None


def inputs_of(store: Store, record: RunRecord) -> dict[str, Any]:
    """Return a run's inputs."""
    try:
        return dict(codec.decode(record.inputs.read(store))) if record.inputs else {}
    except (*UNREADABLE, TypeError) as error:
        raise _damaged(record.run, f"its inputs: {error}") from None


def signals_of(record: RunRecord) -> list[tuple[Any, ...]]:
    """Return the signals that a run was started with."""
    return [tuple(one) for one in codec.decode(record.options.signals)] if record.options.signals else []


def workflow_of(store: Store, record: RunRecord) -> Workflow:
    """Return the workflow of a run, as it was when the run began; raise `RecordProblem` where no file can say it."""
    if not record.document:
        said = f"the workflow of the run `{record.run}` cannot be said in a file"
        raise RecordProblem("R404", said, hint="name the file of its workflow: --file WORKFLOW")
    from solvent.workflows.formats.files import load_text  # what a run that begins needs not

    try:
        text = store.get_blob(record.document).decode()
    except UnicodeDecodeError:
        raise _damaged(record.run, "its workflow is no text") from None
    return load_text(text, name=f"{record.workflow}.json").workflow


def shards_of(workflow: Workflow, record: RunRecord) -> tuple[list[frozenset[str]], dict[Molecule, int]]:
    """Return the tasks of each shard, and the shard of each task."""
    shards = _division(workflow, record) if record.division else divided(workflow, record.max_shards)
    if len(shards) != record.shards or not are_together(workflow, shards):
        raise RecordProblem("R403", f"the record of `{record.run}` does not fit: it has {record.shards} shards")
    from solvent.workflows.translate import task_symbol  # what few need who look a run up

    where = {task_symbol(name): number for number, names in enumerate(shards) for name in names}
    return [frozenset(names) for names in shards], where


def _division(workflow: Workflow, record: RunRecord) -> list[list[str]]:
    """Return the division that a record has; no shards, if that is none of this workflow."""
    if len(record.division) != len(workflow.tasks) or {*record.division} != {*range(record.shards)}:
        return []
    shards: list[list[str]] = [[] for _ in range(record.shards)]
    for task, shard in zip(workflow.tasks, record.division, strict=True):
        shards[shard].append(task.name)
    return shards


def _decoded(run: str, data: bytes) -> RunRecord:
    try:
        record = msgspec.msgpack.decode(data, type=RunRecord)
    except UNREADABLE as error:
        raise _damaged(run, str(error)) from None
    if not 1 <= record.shards <= record.max_shards <= MAX_SHARDS:
        raise _damaged(run, f"{record.shards} shards")
    return record


def _damaged(run: str, why: str) -> RecordProblem:
    return RecordProblem("R403", f"the record of the run `{run}` does not read: {why}")


def _unknown(store: Store, name: str) -> RecordProblem:
    runs = names_in(store)
    matches = [run for run in runs if run.startswith(name)]
    run = name if name in runs else matches[0] if len(matches) == 1 else ""
    if run and store.get(f"programs/{run}/run") is not None:
        said = f"`{run}` is no run of a workflow, but of a program over nodes"
        hint = (
            f"`solvent status {run}` shows it; `solvent run --attach {run}` waits for it and, with --spares 1, goes on"
        )
        return RecordProblem("R401", said, hint=hint)
    if len(matches) > 1:
        shown = ", ".join(matches[-5:])
        return RecordProblem("R401", f"`{name}` matches several runs: {shown}", hint="write more of the name")
    hint = nearest(name, runs) or (f"the latest: {', '.join(runs[-3:])}" if runs else "there are no runs in it")
    return RecordProblem("R401", f"there is no run `{name}` in {store.url}", hint=hint)


# ------------------------------------------------------------------------------------------------------- workflows


def document_of(workflow: Workflow) -> str:
    """Return a workflow as JSON; nothing where a file cannot say it."""
    from solvent.workflows.formats.yaml.writer import write_json

    try:
        return write_json(workflow, indent=None)
    except (WorkflowProblem, ValueError):
        return ""


def digest_of(workflow: Workflow) -> str:
    """Return a text that is the same for workflows that are the same; functions are the same by name."""
    # A function is the same whether its file is the main script or imported by its name, which only then is a target.
    change = msgspec.structs.replace
    services = (change(one, target="") if one.function is not None else one for one in workflow.services)
    workflow = change(workflow, services=tuple(services))
    try:
        data = _DIGESTED(workflow)
    except (OverflowError, UnicodeEncodeError):
        # msgpack has no integers of more than 64 bits and no lone surrogates; version 2 of marshal has both.
        data = marshal.dumps(msgspec.to_builtins(workflow, enc_hook=_named, order="deterministic"), 2)
    return hashlib.sha256(data).hexdigest()[:32]


def _named(value: Any) -> Any:
    try:
        return codec.encode(value)
    except codec.Unrecordable:
        kind = type(value)
        home, name = getattr(value, "__module__", kind.__module__), getattr(value, "__qualname__", kind.__qualname__)
        if home == "__main__":
            home = Path(str(getattr(sys.modules[home], "__file__", home))).stem
        return f"{home}:{name}"


_DIGESTED = encoder(enc_hook=_named, order="deterministic")

__all__ = [
    "FINISHED", "FORMAT", "MAX_TEXT", "MESSAGES", "NAME_RULE", "OVER", "SUBMITTED", "KeptOptions",
    "RunRecord", "State", "announce", "announced", "announced_record", "calls_of", "change", "create", "digest_of",
    "document_of", "end", "end_update", "existing", "find", "inputs_of", "is_name", "journal_of", "key_of", "latest",
    "list_runs", "messages_of", "names_in", "new_name", "new_record", "prefix_from", "record_of", "run_at",
    "set_deadline", "shards_of", "signals_of", "task_names", "tell_agents", "workflow_of",
]  # fmt: skip
