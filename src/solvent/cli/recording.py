"""Where runs of workflows are recorded, and what is said about it.

By default that is `.solvent/space.db` under the current folder; `--space URL` or the variable SOLVENT_SPACE name
another place (`none`: nowhere).
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from solvent.cli.render import complain, counted, write
from solvent.cli.secrecy import VARIABLE, redacted
from solvent.errors import Misuse, NoSpace, RecordProblem, SolventError, SpaceError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from solvent.live.space import Space
    from solvent.running.records.cards import RunCard
    from solvent.running.records.runs import HeldRun
    from solvent.workflow.model import Workflow

FOLDER = ".solvent"
FILE = "space.db"
NOWHERE = "none"
_NAMES_MAX = 3
_LOOKING = "status|logs|resume|replay|cancel|timeline|agents list|run --attach"
_COMMAND = re.compile(rf"`(solvent (?:{_LOOKING})\b(?![^`]* --space )[^`]*)`")
"""One that looks into a space, in a hint that does not say which."""


def add_space(parser: ArgumentParser) -> None:
    """Add --space."""
    says = f"where runs are recorded (default: {VARIABLE}, or {FOLDER}/{FILE})"
    parser.add_argument("--space", metavar="URL", help=says)


def add_run(parser: ArgumentParser, *, default: str = "") -> None:
    """Add RUN: the name of a run, or the beginning of it."""
    says = "the name of a run, or the beginning of it"
    if default:
        parser.add_argument("run", nargs="?", metavar="RUN", help=f"{says} (default: {default})")
    else:
        parser.add_argument("run", metavar="RUN", help=says)


def begin_record(options: Namespace, workflow: Workflow, inputs: dict[str, Any]) -> HeldRun | None:
    """Give the run that is to be recorded; nothing where it is not to be, or cannot be, which is said."""
    given = _given(options)
    if options.no_record or given == NOWHERE:
        for name in ("space", "name", "no_sync"):
            if options.no_record and getattr(options, name):
                raise Misuse("H313", f"`--{name.replace('_', '-')}` does not go with --no-record")
        return None
    from solvent.live.space import open_space
    from solvent.running.records import values
    from solvent.running.records.cards import RunOptions
    from solvent.running.records.runs import new_run

    try:
        space = open_space(absolute(given) if given else _made_folder(), is_durable=not options.no_sync)
    except SpaceError as error:
        if given:
            raise
        hint = "name another place: --space FILE; or say --no-record"
        complain(f"the run is not recorded: {error.message}", hint=hint)
        return None
    how = RunOptions(
        jobs=options.jobs,
        processes=options.processes,
        scale=options.scale,
        signals=values.encode([list(one) for one in options.signal]) if options.signal else b"",
    )
    held = new_run(space, workflow, inputs, file=options.file, folder=os.getcwd(), options=how)  # noqa: PTH109
    if options.name:
        held.name(options.name)
    return held


def _given(options: Namespace) -> str:
    """Give the address that was said; no service finds it in its environment: it may have a password."""
    known = os.environ.pop(VARIABLE, "")
    if known:
        # Whoever asks again gets the same answer.
        options.known_space = known
    return str(options.space or getattr(options, "known_space", ""))


def _made_folder() -> str:
    """Make the folder of records, which no version control shall see, and give the file in it."""
    from pathlib import Path

    folder = Path(FOLDER)
    if not folder.exists():
        try:
            # What tasks were given and gave back is for the user's eyes only.
            folder.mkdir(mode=0o700)
            (folder / ".gitignore").write_text("*\n", encoding="ascii")
        except OSError as error:
            said = f"the folder of records cannot be made: {folder.absolute()}: {error.strerror}"
            raise SpaceError("E401", said, hint="name another place: --space FILE") from None
    return str((folder / FILE).absolute())


def absolute(url: str) -> str:
    """Give where a space is, also if somebody goes to another folder."""
    return url if "://" in url else os.path.abspath(url)  # noqa: PTH100


def place_of(options: Namespace) -> str:
    """Give where runs are, whether or not anything is there."""
    given = _given(options)
    if given == NOWHERE:
        hint = f"name it: --space URL; {VARIABLE} says `{NOWHERE}`"
        raise RecordProblem("R401", "it is not said where runs are recorded", hint=hint)
    return absolute(given or os.path.join(FOLDER, FILE))  # noqa: PTH118


@contextmanager
def open_records(options: Namespace) -> Iterator[Space]:
    """Open the space that the options name; one that is not there is not made."""
    with hints_with_space(options), _opened(options) as space:
        yield space


def _opened(options: Namespace) -> Space:
    from solvent.live.space import open_space

    try:
        return open_space(place_of(options), is_made=False)
    except NoSpace as error:
        raise RecordProblem("R401", f"no runs are recorded here: {error.message}", hint=error.hint) from None


def url_of(options: Namespace) -> str:
    """Give where runs are, as agents are told; the folder of the default is made."""
    given = _given(options)
    if given == NOWHERE:
        raise RecordProblem("R401", "agents meet at a space, and none is named", hint="name it: --space URL")
    return absolute(given) if given else _made_folder()


def space_for(options: Namespace) -> Space:
    """Open the space of runs that agents have, which is made if it is not there."""
    from solvent.live.space import open_space

    return open_space(url_of(options), is_durable=not options.no_sync)


def state_of(card: RunCard) -> str:
    """Say how a run is; one whose process died before it could say so is `interrupted`."""
    from solvent.running.records.holders import is_there

    is_lost = card.state == "running" and (card.holder is None or is_there(card.holder) is False)
    return "interrupted" if is_lost else card.state


def said_space(options: Namespace) -> str:
    """Give the words by which a command names the same space, for a hint."""
    return f" --space {redacted(options.space)}" if options.space else ""


@contextmanager
def hints_with_space(options: Namespace) -> Iterator[None]:
    """Let the commands that a hint names look where this command looks."""
    try:
        yield
    except SolventError as error:
        add_space_to_hint(error, options)
        raise


def add_space_to_hint(error: SolventError, options: Namespace) -> None:
    """Let the commands that the hint of an error names look where this command looks."""
    error.hint = _COMMAND.sub(lambda found: f"`{found[1]}{said_space(options)}`", error.hint)


def tell_how_to_resume(held: HeldRun, options: Namespace) -> None:
    """Say how one goes on with a run."""
    if held.card.hindrance:
        write(f"it cannot be resumed: {held.card.hindrance}", to=sys.stderr)
        return
    how = f"solvent resume {held.card.run}{said_space(options)}"
    write("to go on with it: ", (how, "bold"), to=sys.stderr)


def tell_of_record(held: HeldRun, run: Any, options: Namespace) -> None:
    """Say, once, which answers are no data and were not kept; and how to go on, if there is more to do."""
    names = list(run.unkept)
    if names:
        more = ", ..." if len(names) > _NAMES_MAX else ""
        said = f"{counted(len(names), 'answer')} not kept: no data ({', '.join(names[:_NAMES_MAX])}{more}); "
        write(said + "should the run be resumed, these calls are made again", to=sys.stderr)
    if not held.card.has_ended:
        tell_how_to_resume(held, options)


def local_time(at: float) -> str:
    """Write a time as the user's clock shows it."""
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def card_as_json(card: RunCard) -> dict[str, Any]:
    """Give what a card says."""
    found: dict[str, Any] = {
        "run": card.run,
        "workflow": card.workflow,
        "state": state_of(card),
        "file": card.file,
        "folder": card.folder,
        "created": card.created,
        "tasks": len(card.tasks),
    }
    if card.ended:
        found["ended"] = card.ended
    if card.holder is not None:
        found["holder"] = {"host": card.holder.host, "process": card.holder.process}
    if card.hindrance:
        found["hindrance"] = card.hindrance
    return found


__all__ = [
    "absolute", "add_run", "add_space", "begin_record", "card_as_json", "local_time", "open_records", "place_of",
    "space_for", "state_of", "tell_how_to_resume", "tell_of_record", "url_of",
]  # fmt: skip
