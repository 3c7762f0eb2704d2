"""Where runs of workflows are recorded, and hints about their records.

The default is `.solvent/store.db` in the current folder; `--store URL` or the variable SOLVENT_STORE name another store
(`none`: runs are not recorded).
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from solvent.cli.render import complain, write
from solvent.cli.secrecy import VARIABLE, redacted, shown
from solvent.errors import Misuse, RecordProblem, SolventError, StoreError
from solvent.runs.store_address import NOWHERE, absolute, default_file, made_folder, open_existing

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from solvent.runs.recorded_run import RecordedRun
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow

MAX_OPENING_SECONDS = 60.0
_LOOKING = "status|logs|resume|replay|signal|cancel|timeline|agents list|run --attach"
_COMMAND = re.compile(rf"`(solvent (?:{_LOOKING})\b(?![^`]* --store )[^`]*)`")
"""A command in a hint that does not name its store."""


def add_run(parser: ArgumentParser, *, default: str) -> None:
    """Add RUN: the name of a run, or the beginning of it; `default` describes what it means to leave it out."""
    says = "the name of a run, or the beginning of it"
    parser.add_argument("run", nargs="?", metavar="RUN", help=f"{says} (default: {default})")


def begin_record(options: Namespace, workflow: Workflow, inputs: dict[str, Any]) -> RecordedRun | None:
    """Return a new record of a run; None if it is not wanted, or, with a warning, not possible."""
    given = _given(options)
    if options.no_record or given == NOWHERE:
        for name in ("store", "name", "no_sync"):
            if options.no_record and getattr(options, name):
                said = f"`--{name.replace('_', '-')}` cannot be used with --no-record"
                raise Misuse("H313", said, hint="leave out one of them")
        return None
    from solvent.runs.recorded_run import new_run
    from solvent.runs.registry import KeptOptions
    from solvent.store import open_store
    from solvent.values import codec

    try:
        store = open_store(absolute(given) if given else made_folder(), is_durable=not options.no_sync)
    except StoreError as error:
        if given:
            raise
        hint = "name another file: --store FILE; or add --no-record"
        complain(f"the run is not recorded: {error.message}", hint=hint)
        return None
    how = KeptOptions(
        jobs=options.jobs,
        processes=options.processes,
        scale=options.scale,
        signals=codec.encode([list(one) for one in options.signal]) if options.signal else b"",
        deadline=options.deadline,
        cache=options.cache,
    )
    held = new_run(store, workflow, inputs, file=options.file, folder=os.getcwd(), options=how)  # noqa: PTH109
    if options.name:
        held.name(options.name)
    return held


def _given(options: Namespace) -> str:
    """Return the given address, and remove it, which may have a password, from the environment of services."""
    known = os.environ.pop(VARIABLE, "")
    if known:
        # For later calls.
        options.known_store = known
    return str(options.store or getattr(options, "known_store", ""))


def place_of(options: Namespace) -> str:
    """Return the address of the store, which may not exist."""
    given = _given(options)
    if given == NOWHERE:
        hint = f"name it: --store URL; {VARIABLE} says `{NOWHERE}`"
        raise RecordProblem("R401", "no store is named", hint=hint)
    return absolute(given) if given else default_file()


@contextmanager
def open_records(options: Namespace) -> Iterator[Store]:
    """Open the store that the options name; a missing one is not created."""
    with hints_with_store(options), open_existing(place_of(options)) as store:
        yield store


def url_of(options: Namespace) -> str:
    """Return the address of the store for agents; create the folder of the default one."""
    given = _given(options)
    if given == NOWHERE:
        raise RecordProblem("R401", "agents need a store, and none is named", hint="name it: --store URL")
    return absolute(given) if given else made_folder()


def store_for(options: Namespace) -> Store:
    """Open the store of runs of agents; create a missing one."""
    from solvent.store import open_store

    return open_store(url_of(options), is_durable=not options.no_sync)


def open_patiently(url: str, *, is_durable: bool) -> Store:
    """Open a store whose servers may still be starting."""
    import time

    from solvent.store import open_store

    until, is_told = time.monotonic() + MAX_OPENING_SECONDS, False
    while True:
        try:
            return open_store(url, is_durable=is_durable)
        except StoreError as error:
            if error.code != "E402" or time.monotonic() >= until:
                raise
            if not is_told:
                complain(f"{shown(error.message)}; trying for {MAX_OPENING_SECONDS:g} s")
            is_told = True


def named_or_latest(store: Store, name: str | None) -> RunRecord:
    """Return the run that a command names, or the one that began last."""
    from solvent.runs.registry import find, latest

    return find(store, name) if name else latest(store)


def load_recorded(record: RunRecord, file: str | None, *, may_change: bool = False) -> Workflow:
    """Load the workflow of a run, in the folder of the run, and check that it has not changed, unless it may."""
    import msgspec

    from solvent.cli.workflows import load_sound
    from solvent.runs.registry import digest_of

    if file is None:
        try:
            os.chdir(record.folder)
        except OSError as error:
            said = f"the folder of the run `{record.run}` cannot be entered: {record.folder}: {error.strerror}"
            raise RecordProblem("R404", said, hint="name the file of its workflow: --file WORKFLOW") from None
    given = file or record.file
    # A file that was named with the command is checked when it is loaded.
    if file is None and not os.path.exists(given.partition(".py:")[0] + (".py" if ".py:" in given else "")):  # noqa: PTH110
        said = f"the workflow of the run `{record.run}` is gone: there is no file {given}"
        raise RecordProblem("R404", said, hint="name its file: --file WORKFLOW")
    # A workflow may have its name from its file.
    workflow = msgspec.structs.replace(load_sound(given, scale=record.options.scale).workflow, name=record.workflow)
    if not may_change and digest_of(workflow) != record.digest:
        said = f"{given} has changed since the run `{record.run}` began, and its record does not fit it"
        hint = "restore the file (or name a copy: --file WORKFLOW), or run it anew"
        raise RecordProblem("R404", said, hint=hint)
    return workflow


def recorded_workflow(store: Store, record: RunRecord, file: str | None) -> Workflow:
    """Return the workflow of a run as its record has it; where no file can say it, load it."""
    from solvent.runs.registry import workflow_of

    return workflow_of(store, record) if record.document else load_recorded(record, file)


def said_store(options: Namespace) -> str:
    """Return the option that names the same store, for a hint."""
    return f" --store {redacted(options.store)}" if options.store else ""


@contextmanager
def hints_with_store(options: Namespace) -> Iterator[None]:
    """Add the store of this command to the commands in the hint of an error."""
    try:
        yield
    except SolventError as error:
        add_store_to_hint(error, options)
        raise


def add_store_to_hint(error: SolventError, options: Namespace) -> None:
    """Add the store of this command to the commands in the hint of an error."""
    error.hint = _COMMAND.sub(lambda found: f"`{found[1]}{said_store(options)}`", error.hint)


def tell_how_to_resume(held: RecordedRun, options: Namespace) -> None:
    """Print how to resume a run."""
    if held.record.hindrance:
        write(f"it cannot be resumed: {held.record.hindrance}", to=sys.stderr)
        return
    how = f"solvent resume {held.record.run}{said_store(options)}"
    write("to continue it: ", (how, "bold"), to=sys.stderr)


def local_time(at: float) -> str:
    """Return a time as text, in the local time zone."""
    import time

    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        # A journal may be damaged, and nothing is decided by its times.
        return "at no time"


def record_as_json(store: Store, record: RunRecord) -> dict[str, Any]:
    """Return the record of a run as JSON, with who has it."""
    from solvent.runs.holders import holder_of
    from solvent.runs.projection import state_of

    found: dict[str, Any] = {
        "run": record.run,
        "workflow": record.workflow,
        "state": state_of(store, record),
        "agents": record.by_agents,
        "created": record.created,
        "tasks": record.tasks,
        "file": record.file,
        "folder": record.folder,
    }
    if record.ended:
        found["ended"] = record.ended
    if record.why:
        found["text"] = record.why
    if record.deadline:
        found["deadline"] = record.deadline
    if record.version > 1:
        found["version"] = record.version
    if record.by_agents and not record.has_ended:
        found["updater"] = record.updater
    holder = None if record.has_ended else holder_of(store, record)
    if holder is not None:
        found["holder"] = {"host": holder.host, "process": holder.process}
    if record.hindrance:
        found["hindrance"] = record.hindrance
    return found
