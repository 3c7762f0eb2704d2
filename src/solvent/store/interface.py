"""The interface of a store: logs of records, keys with revisions, blobs, and watches that report changes.

A store keeps what must survive the death of any process: another process reads it and continues. A store knows nothing
of workflows, and its users do not know where it keeps its data.

*Logs.* A record is bytes appended to a named log; one append is one record. Its position is a number that only grows
over the whole store, from 1, possibly with gaps: reading several logs together gives one order that every reader sees.
With `expected`, a record is appended only if the log's last record is the one that the writer knows. This is the fence:
a process that was stopped and replaced meanwhile finds out before it does harm.

*Keys.* A key has a value and a revision; a revision is never used again, not even after the key was deleted. With
`expected`, a value is put only if the key's revision is the one that the writer knows (0: the key does not exist).

*Blobs* are named by their content (SHA-256), so putting one twice has the effect of putting it once.

*Removal.* `drop` removes logs and keys for good, and `sweep_blobs` the blobs that are not used. A blob is put before
anything names it, so one that was put in the last hour stays, also if it was there before.

When an operation returns, its effect is kept as `is_durable` says: on disk, or safe from the death of processes only.
An operation that raises `Conflict` has changed nothing. One that raises E409, since the connection to a server was
lost, may have happened; a caller that must know passes `expected` and looks.

All operations block, and several threads may call them at once. Values are bytes, which a store does not interpret.
"""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from solvent.errors import StoreError
from solvent.values.encoding import as_pieces, digest_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from solvent.values.encoding import Pieces

MAX_NAME_CHARACTERS = 250
MAX_READ = 1000
"""Records that one `read` returns by default."""

MIN_AGE = 3600.0
"""Seconds for which a blob that nothing names is kept."""
FRESH = 600.0
"""Seconds for which a blob counts as just put; it is marked again when it is put after that."""

_NAME = re.compile(r"[A-Za-z0-9_.=-]+(?:/[A-Za-z0-9_.=-]+)*")
_BLOB = re.compile(r"[0-9a-f]{64}")


class Record(NamedTuple):
    """A record of a log, and its position in the store."""

    position: int
    log: str
    data: bytes


class Entry(NamedTuple):
    """The value of a key; each change has a greater revision."""

    revision: int
    value: bytes


class Append(NamedTuple):
    """A record to be appended; see `Store.append`."""

    log: str
    data: bytes
    expected: int | None = None


class Swept(NamedTuple):
    """Blobs that are not used any more: how many, and of how many bytes."""

    blobs: int
    bytes: int


class Promise(Protocol):
    """The positions of appends that are still under way."""

    def done(self) -> bool:
        """Return whether `result` would return at once."""

    def result(self) -> list[int]:
        """Wait for the positions; raise `StoreError` if an append failed."""


class Watch(ABC):
    """Reports that something may have changed; used by one thread at a time, but `close` may be called by any."""

    @abstractmethod
    def wait(self, seconds: float) -> bool:
        """Wait until something watched may have changed since the last wait, or since the watch was made.

        Return false when the time is over, or the watch is closed.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop watching, and wake a thread that waits."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Store(ABC):
    """A store, as described above: checks what it is given and leaves the rest to its back end."""

    is_atomic: bool = False
    """Whether `append_all` does all or nothing."""

    def __init__(self, url: str, *, is_durable: bool, max_record_bytes: int, max_blob_bytes: int) -> None:
        self.url = url
        self.is_durable = is_durable
        self.max_record_bytes = max_record_bytes
        """Of a record, and of a key's value."""
        self.max_blob_bytes = max_blob_bytes
        self._watches = set[Watch]()
        self._watching = threading.Lock()

    def append(self, log: str, data: bytes, *, expected: int | None = None) -> int:
        """Append a record and return its position.

        With `expected`, only if that is the position of the log's last record (0: it has none); otherwise raise
        `Conflict`, whose `last` is that position.
        """
        return self.append_all((Append(log, data, expected),))[0]

    def append_all(self, appends: Sequence[Append]) -> list[int]:
        """Append several records, in this order, and return their positions.

        Much cheaper than one after the other. Do not rely on all or nothing: SQLite does it in one transaction, NATS
        does not. Each `expected` is compared with the state of the log after the appends before it.
        """
        for one in appends:
            self._check_append(one)
        return self._append_all(appends) if appends else []

    def append_each(self, appends: Sequence[Append]) -> list[int | StoreError]:
        """Append records that do not depend on each other; return the position or the error of each."""
        found: list[int | StoreError] = []
        for one in appends:
            try:
                found.append(self.append(one.log, one.data, expected=one.expected))
            except StoreError as error:
                found.append(error)
        return found

    def append_soon(self, appends: Sequence[Append]) -> Promise:
        """Begin to `append_all`, where possible without waiting; ask for the result to be sure of it."""
        future = Future[list[int]]()
        try:
            future.set_result(self.append_all(appends))
        except StoreError as error:
            future.set_exception(error)
        return future

    def read(self, logs: Sequence[str] | str, after: int = 0, limit: int = MAX_READ) -> list[Record]:
        """Return the first records of these logs after a position, in order of position.

        A name that ends in `/` means all logs below it, and the empty name all logs. Fewer than `limit` records means
        that there were no more.
        """
        scopes = tuple(map(check_scope, (logs,) if isinstance(logs, str) else logs))
        return self._read(scopes, after, limit) if scopes and limit > 0 else []

    def last(self, log: str) -> int:
        """Return the position of a log's last record; 0 if it has none."""
        return self._last(check_name(log))

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key; `None` if the key does not exist."""
        return self._get(check_name(key))

    def put(self, key: str, value: bytes, *, expected: int | None = None) -> int:
        """Set a key and return its new revision.

        With `expected`, only if that is its revision (0: it does not exist); otherwise raise `Conflict`.
        """
        check_size(value, self.max_record_bytes, "value")
        return self._put(check_name(key), value, expected)

    def delete(self, key: str, *, expected: int | None = None) -> None:
        """Remove a key, if it exists; `expected` as for `put`."""
        self._delete(check_name(key), expected)

    def keys(self, below: str) -> dict[str, Entry]:
        """Return all keys below a name that ends in `/` (or all, for the empty name), sorted by name."""
        return self._keys(check_below(below))

    def drop(self, name: str, *, up_to: int | None = None) -> None:
        """Remove the log and the key of a name, or all logs and keys below one that ends in `/`.

        With `up_to`, only the records up to this position, and no keys. Positions and revisions are not used again. An
        error leaves some of it; a watch need not notice.
        """
        self._drop(check_scope(name) if name else check_name(name), up_to)

    def put_blob(self, data: bytes | memoryview | Pieces) -> str:
        """Keep bytes and return their name: the SHA-256, as 64 hexadecimal digits."""
        check_size(data, self.max_blob_bytes, "blob")
        pieces = as_pieces(data)
        name = digest_of(pieces)
        self._put_blob(name, pieces)
        return name

    def get_blob(self, name: str) -> bytes:
        """Return the bytes of a name; raise `StoreError` E406 if they are missing or damaged."""
        return self._get_blob(check_blob_name(name))

    def sweep_blobs(self, used: Collection[str], *, min_age: float = MIN_AGE, is_tried: bool = False) -> Swept:
        """Remove the blobs that are not used, and of what was put in part; return how much that was.

        What was put in the last `min_age` seconds stays: it may be about to be used. With `is_tried` nothing is
        removed.
        """
        return self._sweep_blobs(used, min_age, is_tried)

    def shrink(self) -> int:
        """Release the room of what was removed to the system; return how many bytes the store's file is smaller.

        Servers do so by themselves.
        """
        return 0

    def watch(self, below: Sequence[str]) -> Watch:
        """Watch logs and keys: those named, and all below names that end in `/` (the empty name: everything)."""
        watch = self._watch([check_scope(one) for one in below])
        with self._watching:
            self._watches.add(watch)
        return watch

    def _forget(self, watch: Watch) -> None:
        with self._watching:
            self._watches.discard(watch)

    def close(self) -> None:
        """Close the store and its watches; later calls raise E408."""
        with self._watching:
            watches = list(self._watches)
        for watch in watches:
            watch.close()
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_append(self, append: Append) -> None:
        check_name(append.log)
        check_size(append.data, self.max_record_bytes, "record")

    # What a back end does, as the method of the same name says; the arguments are checked.

    @abstractmethod
    def _append_all(self, appends: Sequence[Append]) -> list[int]: ...

    @abstractmethod
    def _read(self, scopes: Sequence[str], after: int, limit: int) -> list[Record]: ...

    @abstractmethod
    def _last(self, log: str) -> int: ...

    @abstractmethod
    def _get(self, key: str) -> Entry | None: ...

    @abstractmethod
    def _put(self, key: str, value: bytes, expected: int | None) -> int: ...

    @abstractmethod
    def _delete(self, key: str, expected: int | None) -> None: ...

    @abstractmethod
    def _keys(self, below: str) -> dict[str, Entry]: ...

    @abstractmethod
    def _drop(self, scope: str, up_to: int | None) -> None: ...

    @abstractmethod
    def _sweep_blobs(self, used: Collection[str], min_age: float, is_tried: bool) -> Swept: ...  # noqa: FBT001

    @abstractmethod
    def _put_blob(self, name: str, pieces: Pieces) -> None: ...

    @abstractmethod
    def _get_blob(self, name: str) -> bytes: ...

    @abstractmethod
    def _watch(self, scopes: Sequence[str]) -> Watch: ...

    @abstractmethod
    def _close(self) -> None: ...


# ---------------------------------------------------------------------------------------------------------- checks


def check_name(name: str) -> str:
    """Return the name of a log or a key; raise `StoreError` E404 if it is invalid."""
    if len(name) > MAX_NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise _name_problem(name)
    return name


def check_below(name: str) -> str:
    """Return a prefix: a name that ends in `/`, or the empty one; raise `StoreError` E404 if it is invalid."""
    if name and not (
        name.endswith("/") and len(name) <= MAX_NAME_CHARACTERS and _NAME.fullmatch(name, 0, len(name) - 1)
    ):
        raise _name_problem(name, " and ends in `/`")
    return name


def check_scope(name: str) -> str:
    """Return a name or a prefix; raise `StoreError` E404 if it is invalid."""
    return check_below(name) if not name or name.endswith("/") else check_name(name)


def check_size(data: bytes | memoryview | Pieces, max_bytes: int, what: str) -> None:
    """Raise `StoreError` E405 if data is too large."""
    size = data.nbytes if isinstance(data, memoryview) else len(data)
    if size > max_bytes:
        hint = "put large data into a blob, or into a file" if what != "blob" else ""
        raise StoreError("E405", f"a {what} of {size:,} bytes is too large; the limit is {max_bytes:,}", hint=hint)


def check_blob_name(name: str) -> str:
    """Return a blob's name; raise `StoreError` E404 if it is invalid."""
    if not _BLOB.fullmatch(name):
        said = f"`{_shown(name)}` is not the name of a blob"
        raise StoreError("E404", said, hint="use the name that `put_blob` returned: 64 hexadecimal digits")
    return name


def is_within(name: str, scopes: Sequence[str]) -> bool:
    """Return whether a name is one of these, or below one that ends in `/`."""
    return any(name == scope or (name.startswith(scope) and (not scope or scope[-1] == "/")) for scope in scopes)


def _name_problem(name: str, more: str = "") -> StoreError:
    said = f"`{_shown(name)}` is not a valid name of a log or a key"
    rule = f"a name consists of letters, digits and _ . = - in parts separated by `/`{more}"
    return StoreError("E404", said, hint=f"{rule}, at most {MAX_NAME_CHARACTERS} characters")


def _shown(name: str) -> str:
    return ascii(name)[1:-1] if len(name) <= 60 else f"{ascii(name[:60])[1:-1]}..."


__all__ = [
    "FRESH",
    "MAX_NAME_CHARACTERS",
    "MAX_READ",
    "MIN_AGE",
    "Append",
    "Entry",
    "Promise",
    "Record",
    "Store",
    "Swept",
    "Watch",
    "check_below",
    "check_blob_name",
    "check_name",
    "check_scope",
    "check_size",
    "is_within",
]
