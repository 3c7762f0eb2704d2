"""What is asked of a store: logs of records, keys with revisions, blobs, and a notice when something changed.

A store keeps what must survive the death of any process: whoever comes next reads it and goes on. It knows nothing of
workflows, and its users know nothing of where it keeps things.

*Logs.* A record is bytes appended to a named log; one append is one record. Its position is a number over the whole
store that only grows, from 1, perhaps with gaps: reading several logs together gives one order that everybody sees
alike. With `expected`, a record is appended only if the log's last record is the one that the writer knows. This is the
fence: only who has seen everything may append, so that a process which was stopped, and replaced meanwhile, finds out
before it does harm.

*Keys.* A key has a value and a revision; a revision is never used again, also not after the key was deleted. With
`expected`, a value is put only if the key's revision is the one that the writer knows (0: the key is not there).

*Blobs* are named by what is in them (SHA-256), so that putting one twice is the same as once.

What an operation has returned is kept as `is_durable` says: on disk, or safe from the death of processes only. An
operation that raises `Conflict` has changed nothing. One that raises E409, since the connection to a server was lost,
may have happened; whoever must know gives `expected` and looks.

All operations block, and may be called by several threads at once. Nothing is interpreted: values are bytes.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from solvent.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.values.encoding import Pieces

MAX_NAME_CHARACTERS = 250
MAX_READ = 1000
"""Records that one `read` gives unless told otherwise."""

_NAME = re.compile(r"[A-Za-z0-9_.=-]+(?:/[A-Za-z0-9_.=-]+)*")
_BLOB = re.compile(r"[0-9a-f]{64}")


class Record(NamedTuple):
    """What was appended to a log, and where it stands in the store."""

    position: int
    log: str
    data: bytes


class Entry(NamedTuple):
    """What a key has: each change has a greater revision."""

    revision: int
    value: bytes


class Append(NamedTuple):
    """A record to be appended; see `Store.append`."""

    log: str
    data: bytes
    expected: int | None = None


class Promise(Protocol):
    """Positions that will be known, or what is wrong."""

    def done(self) -> bool:
        """Return whether the result is there."""

    def result(self) -> list[int]:
        """Wait for it; raise `StoreError` if something is wrong."""


class Watch(ABC):
    """Tells that something may have changed; for one thread at a time, but `close` may be called by any."""

    @abstractmethod
    def wait(self, seconds: float) -> bool:
        """Wait until something watched may have changed since the last wait; false when time is over, or closed.

        The first wait looks from the moment at which the watch was made.
        """

    @abstractmethod
    def close(self) -> None:
        """Watch no more; who waits is woken."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Store(ABC):
    """A place outside of any process; see the module's text."""

    url: str
    is_durable: bool
    max_record_bytes: int
    """Of a record, and of a key's value."""
    max_blob_bytes: int
    is_atomic: bool = False
    """Whether `append_all` does all or nothing."""

    @abstractmethod
    def append(self, log: str, data: bytes, *, expected: int | None = None) -> int:
        """Append a record and give its position.

        With `expected`, only if that is the position of the log's last record (0: it has none); else raise `Conflict`,
        whose `last` says what it is.
        """

    @abstractmethod
    def append_all(self, appends: Sequence[Append]) -> list[int]:
        """Append several records, in this order, and give their positions.

        Much cheaper than one after the other. Do not rely on all or nothing: SQLite does it in one transaction, NATS
        does not. Each `expected` is compared with what the log has after the appends before it.
        """

    def append_each(self, appends: Sequence[Append]) -> list[int | StoreError]:
        """Append records that have nothing to do with each other; give the position of each, or why it is refused."""
        found: list[int | StoreError] = []
        for one in appends:
            try:
                found.append(self.append(one.log, one.data, expected=one.expected))
            except StoreError as error:
                found.append(error)
        return found

    def append_soon(self, appends: Sequence[Append]) -> Promise:
        """Begin to `append_all`, perhaps without waiting for it; who makes sure of it asks for the result."""
        future = Future[list[int]]()
        try:
            future.set_result(self.append_all(appends))
        except StoreError as error:
            future.set_exception(error)
        return future

    @abstractmethod
    def read(self, logs: Sequence[str] | str, after: int = 0, limit: int = MAX_READ) -> list[Record]:
        """Return the first records of these logs behind a position, in order of position.

        A name that ends in `/` means all logs below it, and the empty name all logs. Fewer than `limit` records means
        that there were no more.
        """

    @abstractmethod
    def last(self, log: str) -> int:
        """Return the position of a log's last record; 0 if it has none."""

    @abstractmethod
    def get(self, key: str) -> Entry | None:
        """Return what a key has, or nothing where it is not there."""

    @abstractmethod
    def put(self, key: str, value: bytes, *, expected: int | None = None) -> int:
        """Set a key and give its new revision.

        With `expected`, only if that is its revision (0: it is not there); else raise `Conflict`.
        """

    @abstractmethod
    def delete(self, key: str, *, expected: int | None = None) -> None:
        """Remove a key, if it is there; `expected` as for `put`."""

    @abstractmethod
    def keys(self, below: str) -> dict[str, Entry]:
        """Return all keys below a name that ends in `/` (or all, for the empty name), sorted by name."""

    @abstractmethod
    def put_blob(self, data: bytes | memoryview | Pieces) -> str:
        """Keep bytes and give their name: the SHA-256, as 64 hexadecimal digits."""

    @abstractmethod
    def get_blob(self, name: str) -> bytes:
        """Return the bytes of a name; raise `StoreError` E406 where they are missing or damaged."""

    @abstractmethod
    def watch(self, below: Sequence[str]) -> Watch:
        """Watch logs and keys: those named, and all below names that end in `/` (the empty name: everything)."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it; what is called afterwards raises E408. Watches are closed, too."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---------------------------------------------------------------------------------------------------------- checks


def check_name(name: str) -> str:
    """Return the name of a log or a key; raise `StoreError` E404 for one that cannot be."""
    if len(name) > MAX_NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise _name_problem(name)
    return name


def check_below(name: str) -> str:
    """Return a name that means all below it: one that ends in `/`, or the empty one."""
    if name and not (
        name.endswith("/") and len(name) <= MAX_NAME_CHARACTERS and _NAME.fullmatch(name, 0, len(name) - 1)
    ):
        raise _name_problem(name, " and ends in `/`")
    return name


def check_scope(name: str) -> str:
    """Return a name, or one that means all below it."""
    return check_below(name) if not name or name.endswith("/") else check_name(name)


def check_size(data: bytes | memoryview | Pieces, max_bytes: int, what: str) -> None:
    """Raise `StoreError` E405 for what is too large."""
    size = data.nbytes if isinstance(data, memoryview) else len(data)
    if size > max_bytes:
        hint = "what is large belongs in a blob, or in a file" if what != "blob" else ""
        raise StoreError("E405", f"a {what} of {size:,} bytes is too large: at most {max_bytes:,}", hint=hint)


def check_blob_name(name: str) -> str:
    """Return a blob's name; raise `StoreError` E404 for what is none."""
    if not _BLOB.fullmatch(name):
        said = f"`{_shown(name)}` is no name of a blob"
        raise StoreError("E404", said, hint="it is what `put_blob` gave: 64 hexadecimal digits")
    return name


def is_within(name: str, scopes: Sequence[str]) -> bool:
    """Return whether a name is one of these, or below one of those that end in `/`."""
    return any(name == scope or (name.startswith(scope) and (not scope or scope[-1] == "/")) for scope in scopes)


def _name_problem(name: str, more: str = "") -> StoreError:
    said = f"`{_shown(name)}` cannot be the name of a log or a key"
    hint = (
        f"a name is parts of letters, digits and _ . = - joined by `/`{more}, at most {MAX_NAME_CHARACTERS} characters"
    )
    return StoreError("E404", said, hint=hint)


def _shown(name: str) -> str:
    return ascii(name)[1:-1] if len(name) <= 60 else f"{ascii(name[:60])[1:-1]}..."


__all__ = [
    "MAX_NAME_CHARACTERS",
    "MAX_READ",
    "Append",
    "Entry",
    "Promise",
    "Record",
    "Store",
    "Watch",
    "check_below",
    "check_blob_name",
    "check_name",
    "check_scope",
    "check_size",
    "is_within",
]
