"""A run over nodes that is kept in a space: what it takes to go on with it is there, and nowhere else.

programs/RUN/run             the run: its program, how many nodes, the secret they share        key
programs/RUN/N/part          the blob of a node's part                                          key
programs/RUN/N/lease         who has the node                                                   key
programs/RUN/N/at            where it listens, if it does                                       key
programs/RUN/end             how the run has ended, if it has                                   key
program-states/RUN/N         how a node is, for people                                          key
program-journals/RUN/N       a node's journal                                                   log
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from solvent.errors import Conflict, Misuse, SpaceError
from solvent.live.space.journal import SpaceJournal
from solvent.live.space.leases import AGENTS, Holder, holder_from_entry
from solvent.running.nodes.control import Part, Problem, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.live.space import Space
    from solvent.live.space.interface import Entry

T = TypeVar("T")

PROGRAMS, STATES, JOURNALS = "programs/", "program-states/", "program-journals/"
FORMAT = 1
INERT, HALTED, FAILED = "inert", "halted", "failed"


class SharedRun(msgspec.Struct, frozen=True):
    """What is known of a run."""

    run: str
    #: The program's file, as it was given, and whether it calls Python functions.
    name: str
    calls_python: bool
    nodes: int
    #: As hexadecimal digits; whoever can read the space may be a node.
    secret: str
    #: How nodes talk to each other: `tcp` or `nats`.
    transport: str
    ttl: float
    started_at: float
    #: The blob of the program's text and of what all nodes have.
    blob: str
    format: int = FORMAT

    def __repr__(self) -> str:
        # Without the secret: what is shown may end up in a log.
        return f"SharedRun({self.run!r}, {self.name!r}, nodes={self.nodes})"


class ProgramText(msgspec.Struct, frozen=True):
    """The program's text, and what the solution has in the end besides the molecules of the nodes."""

    text: str
    copies: tuple[str, ...] = ()
    why_together: str = ""


class Ending(msgspec.Struct, frozen=True):
    """How a run has ended: `inert`, `halted` before it was, or `failed`."""

    how: str
    #: By the clock of whoever says so; for people only.
    at: float
    problem: Problem | None = None


class Seen(NamedTuple):
    """What the keys of a run say."""

    holders: dict[int, Holder]
    addresses: dict[int, str]
    ending: Ending | None


class Board:
    """One run in a space."""

    def __init__(self, space: Space, run: str) -> None:
        self.space = space
        self.run = run
        self.below = f"{PROGRAMS}{run}/"

    # --- Making, and reading.

    def create(self, record: SharedRun, text: ProgramText, parts: list[Part]) -> None:
        """Put a new run into the space; it is there when all of it is."""
        for part in parts:
            self.save_part(part)
        blob = self.space.put_blob(msgspec.msgpack.encode(text))
        self.space.put(f"{self.below}run", msgspec.msgpack.encode(msgspec.structs.replace(record, blob=blob)))

    def record(self) -> SharedRun:
        """Give what is known of the run; raise `Misuse` where there is none of this name."""
        try:
            entry = self.space.get(f"{self.below}run")
        except SpaceError as error:
            if error.code != "E404":
                raise
            entry = None
        if entry is None:
            known = ", ".join(runs_in(self.space)[-3:])
            hint = f"there is: {known}" if known else "no program was ever run in this space"
            raise Misuse("H346", f"there is no run `{self.run}` of a program in this space", hint=hint)
        record = _read(entry.value, SharedRun, "run")
        if record.format != FORMAT:
            raise SpaceError("E407", f"the run `{self.run}` was made by another version of Solvent")
        return record

    def text(self, record: SharedRun) -> ProgramText:
        """Give the program's text."""
        return _read(self.space.get_blob(record.blob), ProgramText, "text")

    def part(self, node: int) -> tuple[Part, int]:
        """Give a node's part, and its revision."""
        entry = self.space.get(f"{self.below}{node}/part")
        if entry is None:
            raise SpaceError("E406", f"node {node} of the run `{self.run}` has no part in this space")
        return _read(self.space.get_blob(entry.value.decode()), Part, "part"), entry.revision

    def save_part(self, part: Part, *, expected: int | None = None) -> int:
        """Keep a node's part."""
        blob = self.space.put_blob(msgspec.msgpack.encode(part))
        return self.space.put(f"{self.below}{part.node}/part", blob.encode(), expected=expected)

    def journal(
        self,
        node: int,
        record_type: Any,
        *,
        is_sure: Callable[[float], bool] = lambda _: True,
        is_read_only: bool = False,
    ) -> SpaceJournal:
        """Give a node's journal, not open yet."""
        log = f"{JOURNALS}{self.run}/{node}"
        return SpaceJournal(self.space, log, record_type, is_sure=is_sure, is_read_only=is_read_only)

    # --- What goes on.

    def lease(self, node: int) -> str:
        """Give the key that says who has a node."""
        return f"{self.below}{node}/lease"

    def look(self) -> Seen:
        """See who has which node, where nodes are, and whether the run is over."""
        holders, addresses, ending = dict[int, Holder](), dict[int, str](), None
        for key, entry in self.space.keys(self.below).items():
            node, _, what = key.removeprefix(self.below).partition("/")
            if node == "end":
                ending = _read(entry.value, Ending, "end")
            elif what == "lease":
                holders[int(node)] = holder_from_entry(entry)
            elif what == "at":
                addresses[int(node)] = entry.value.decode()
        return Seen(holders, addresses, ending)

    def announce(self, node: int, address: str) -> None:
        """Say where a node listens."""
        self.space.put(f"{self.below}{node}/at", address.encode())

    def end(self, how: str, problem: Problem | None = None) -> bool:
        """Say how the run has ended; false if somebody else has said so before."""
        try:
            self.space.put(f"{self.below}end", msgspec.msgpack.encode(Ending(how, time.time(), problem)), expected=0)
        except Conflict:
            return False
        return True

    def go_on(self) -> None:
        """Let a run go on that has ended before it was inert."""
        entry = self.space.get(f"{self.below}end")
        if entry is not None and _read(entry.value, Ending, "end").how != INERT:
            with suppress(Conflict):
                self.space.delete(f"{self.below}end", expected=entry.revision)

    # --- For people.

    def note(self, status: Status) -> None:
        """Say how a node is."""
        self.space.put(f"{STATES}{self.run}/{status.node}", msgspec.msgpack.encode(status))

    def statuses(self) -> dict[int, Status]:
        """Give how nodes were when they said so last."""
        found = self.space.keys(f"{STATES}{self.run}/").values()
        return {status.node: status for status in (_read(entry.value, Status, "state") for entry in found)}

    def members(self) -> dict[str, Entry]:
        """Give the pulses of processes that take part in the run, also of those that are dead."""
        return {key: entry for key, entry in self.space.keys(AGENTS).items() if key.startswith(f"{AGENTS}{self.run}.")}


def runs_in(space: Space) -> list[str]:
    """Give the names of the runs of programs in a space, the latest last."""
    found = {key: entry for key, entry in space.keys(PROGRAMS).items() if key.endswith("/run")}
    return [key.removeprefix(PROGRAMS).removesuffix("/run") for key in sorted(found, key=lambda k: found[k].revision)]


def _read(data: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise SpaceError("E406", f"the {what} of a program's run is damaged: {error}") from error


__all__ = [
    "FAILED",
    "HALTED",
    "INERT",
    "Board",
    "Ending",
    "ProgramText",
    "Seen",
    "SharedRun",
    "runs_in",
]
