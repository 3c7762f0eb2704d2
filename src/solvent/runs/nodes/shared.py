"""A run over nodes that is kept in a store: what it takes to go on with it is there, and nowhere else.

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

from solvent.errors import Conflict, Misuse, StoreError
from solvent.runs.nodes.control import Part, Problem, Status
from solvent.runs.nodes.store_journal import StoreJournal
from solvent.store.leases import AGENTS, Holder, holder_from_entry
from solvent.values.encoding import encode_msgpack
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.store import Store
    from solvent.store.interface import Entry

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
    #: As hexadecimal digits; whoever can read the store may be a node.
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
    """One run in a store."""

    def __init__(self, store: Store, run: str) -> None:
        self.store = store
        self.run = run
        self.below = f"{PROGRAMS}{run}/"

    # --- Making, and reading.

    def create(self, record: SharedRun, text: ProgramText, parts: list[Part]) -> None:
        """Put a new run into the store; it is there when all of it is."""
        for part in parts:
            self.save_part(part)
        blob = self.store.put_blob(encode_msgpack(text))
        self.store.put(f"{self.below}run", encode_msgpack(msgspec.structs.replace(record, blob=blob)))

    def record(self) -> SharedRun:
        """Give what is known of the run; raise `Misuse` where there is none of this name."""
        try:
            entry = self.store.get(f"{self.below}run")
        except StoreError as error:
            if error.code != "E404":
                raise
            entry = None
        if entry is None:
            known = ", ".join(runs_in(self.store)[-3:])
            hint = f"there is: {known}" if known else "no program was ever run in this store"
            raise Misuse("H346", f"there is no run `{self.run}` of a program in this store", hint=hint)
        record = _read(entry.value, SharedRun, "run")
        if record.format != FORMAT:
            raise StoreError("E407", f"the run `{self.run}` was made by another version of Solvent")
        return record

    def text(self, record: SharedRun) -> ProgramText:
        """Give the program's text."""
        return _read(self.store.get_blob(record.blob), ProgramText, "text")

    def part(self, node: int) -> tuple[Part, int]:
        """Give a node's part, and its revision."""
        entry = self.store.get(f"{self.below}{node}/part")
        if entry is None:
            raise StoreError("E406", f"node {node} of the run `{self.run}` has no part in this store")
        return _read(self.store.get_blob(entry.value.decode(errors="replace")), Part, "part"), entry.revision

    def save_part(self, part: Part, *, expected: int | None = None) -> int:
        """Keep a node's part."""
        blob = self.store.put_blob(encode_msgpack(part))
        return self.store.put(f"{self.below}{part.node}/part", blob.encode(), expected=expected)

    def journal(
        self,
        node: int,
        record_type: Any,
        *,
        is_sure: Callable[[float], bool] = lambda _: True,
        is_read_only: bool = False,
    ) -> StoreJournal:
        """Give a node's journal, not open yet."""
        log = f"{JOURNALS}{self.run}/{node}"
        return StoreJournal(self.store, log, record_type, is_sure=is_sure, is_read_only=is_read_only)

    # --- What goes on.

    def lease(self, node: int) -> str:
        """Give the key that says who has a node."""
        return f"{self.below}{node}/lease"

    def look(self) -> Seen:
        """See who has which node, where nodes are, and whether the run is over."""
        holders, addresses, ending = dict[int, Holder](), dict[int, str](), None
        for key, entry in self.store.keys(self.below).items():
            node, _, what = key.removeprefix(self.below).partition("/")
            if node == "end":
                ending = _read(entry.value, Ending, "end")
                continue
            # What does not read was not said by a node: nobody has that node by it, or is there.
            with suppress(StoreError, ValueError):
                if what == "lease":
                    holders[int(node)] = holder_from_entry(entry)
                elif what == "at":
                    addresses[int(node)] = entry.value.decode()
        return Seen(holders, addresses, ending)

    def announce(self, node: int, address: str) -> None:
        """Say where a node listens."""
        self.store.put(f"{self.below}{node}/at", address.encode())

    def end(self, how: str, problem: Problem | None = None) -> bool:
        """Say how the run has ended; false if somebody else has said so before."""
        try:
            self.store.put(f"{self.below}end", encode_msgpack(Ending(how, time.time(), problem)), expected=0)
        except Conflict:
            return False
        return True

    def go_on(self) -> None:
        """Let a run go on that has ended before it was inert."""
        entry = self.store.get(f"{self.below}end")
        if entry is not None and _read(entry.value, Ending, "end").how != INERT:
            with suppress(Conflict):
                self.store.delete(f"{self.below}end", expected=entry.revision)

    # --- For people.

    def note(self, status: Status) -> None:
        """Say how a node is."""
        self.store.put(f"{STATES}{self.run}/{status.node}", encode_msgpack(status))

    def statuses(self) -> dict[int, Status]:
        """Give how nodes were when they said so last."""
        found = dict[int, Status]()
        for entry in self.store.keys(f"{STATES}{self.run}/").values():
            # What does not read was not said by a node.
            with suppress(StoreError):
                status = _read(entry.value, Status, "state")
                found[status.node] = status
        return found

    def members(self) -> dict[str, Entry]:
        """Give the heartbeats of processes that take part in the run, also of those that are dead."""
        return {key: entry for key, entry in self.store.keys(AGENTS).items() if key.startswith(f"{AGENTS}{self.run}.")}


def runs_in(store: Store) -> list[str]:
    """Give the names of the runs of programs in a store, the latest last."""
    found = {key: entry for key, entry in store.keys(PROGRAMS).items() if key.endswith("/run")}
    return [key.removeprefix(PROGRAMS).removesuffix("/run") for key in sorted(found, key=lambda k: found[k].revision)]


def _read(data: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except UNREADABLE as error:
        raise StoreError("E406", f"the {what} of a program's run is damaged: {error}") from error


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
