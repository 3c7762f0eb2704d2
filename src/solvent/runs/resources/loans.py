"""What one call has borrowed: locks, and in the place of its claims arrays, views or files.

A Python function gets the bytes mapped into its memory: a NumPy array, or a view where the resource is no array. A
command gets the path of a file. To read, it is the file itself. To write, it is a copy that the command may do with as
it likes, and what it has changed is taken over when it has succeeded; or the file itself if the resource keeps nothing
to go back to (`undo: false`).

Locks are taken in the order of the names of the resources, so that calls of different runs, if they ever share some,
cannot wait for each other.

The part that a process has in the space of a run (`Branch`) is one for each run, made when it is first needed. A worker
process may serve many runs, one after the other; when it gets to a new one, it leaves the spaces of those for which it
has nothing more to do.

What resources hold when a run has ended is for the one who started it, and in files. The memory of a run goes with the
run. What is given to the user is a mapping of it that belongs to this process alone, so it is not copied; a page is
when it is written to.
"""

from __future__ import annotations

import atexit
import mmap
import os
import secrets
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from solvent.errors import DataLost, SolventError, SpaceProblem, WorkflowProblem, install_hint
from solvent.handover import join
from solvent.services.admission import Changed
from solvent.services.current_call import cancelled
from solvent.services.failure import Told
from solvent.workflows.model import Claim, shape_of, stretch_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

    from solvent.handover import BlockingHandle
    from solvent.runs.resources.lender import Estate
    from solvent.workflows.model import Resource

_CHUNK = 1 << 20


class Loan:
    """What one call has borrowed; given back as it was before unless `keep` was said, or nothing is kept (no undo)."""

    def __init__(
        self, estate: Estate, arguments: Iterable[Any], keywords: Mapping[str, Any], *, as_paths: bool = False
    ) -> None:
        self.arguments = list(arguments)
        self.keywords = dict(keywords)
        self._estate = estate
        self._known = {one.name: one for one in estate.resources}
        self._as_paths = as_paths
        self._pieces = list[Piece]()

    def enter(self) -> None:
        """Wait for everything, and put it in the place of its claim."""
        claims = {one for one in (*self.arguments, *self.keywords.values()) if isinstance(one, Claim)}
        if not claims:
            return
        kind = File if self._as_paths else Memory
        lent: dict[Claim, Any] = {}
        try:
            branch = branch_of(self._estate)
            for claim in sorted(claims, key=lambda claim: claim.resource):
                piece = kind(branch, self._known[claim.resource], claim)
                self._pieces.append(piece)
                lent[claim] = piece.borrow()
        except SpaceProblem as problem:
            # This process is out of the space; it enters anew when it is called again.
            self.end()
            close_branch(self._estate.space)
            raise _told(problem) from problem
        except DataLost as problem:
            self.end()
            raise Told(f"[W163] {lost(claim.resource)}") from problem
        except SolventError as problem:
            self.end()
            raise _told(problem) from problem
        if cancelled():
            self.end()
            raise Told("cancelled")
        self.arguments = [lent.get(one, one) if isinstance(one, Claim) else one for one in self.arguments]
        self.keywords = {
            key: lent.get(one, one) if isinstance(one, Claim) else one for key, one in self.keywords.items()
        }

    def owned(self, value: Any) -> Any:
        """Copy what of a result lies in borrowed memory: it goes on to others, while the memory changes."""
        if not self._pieces:
            return value
        return _copied(value, [piece.lent for piece in self._pieces])

    def keep(self, result: Any) -> Any:
        """Hand on what was changed, and return the result, with the changes where the estate has them noted."""
        try:
            for piece in self._pieces:
                piece.take_over()
            changes = tuple(one.change() for one in self._pieces if one.is_writing) if self._estate.is_noted else ()
            for piece in self._pieces:
                piece.keep()
        except SolventError as problem:
            raise _told(problem) from problem
        return Changed(result, changes) if changes else result

    def end(self) -> None:
        """Give back what was not handed on: as it was before, or without undo as it is."""
        while self._pieces:
            self._pieces.pop().end()
        self.arguments, self.keywords = [], {}

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class Piece:
    """One resource, or a stretch of it, that a call has."""

    def __init__(self, branch: Branch, resource: Resource, claim: Claim) -> None:
        self.lent: Any = None
        self._branch = branch
        self._resource = resource
        self._claim = claim
        self._handle: BlockingHandle = branch.take(resource)
        self._view: memoryview | None = None

    def borrow(self) -> Any:
        """Wait for it, and give what the call gets."""
        offset, length = stretch_of(self._resource, self._claim)
        self._view = self._handle.acquire(self._claim.mode, offset=offset, length=length)
        self.lent = self._made(self._view)
        return self.lent

    @property
    def is_writing(self) -> bool:
        """Whether the call may have changed it."""
        return self._claim.mode == "write"

    def take_over(self) -> None:
        """Bring what was changed to where others find it."""

    def change(self) -> tuple[str, int, bytes]:
        """Return the part that was changed: the resource, its first byte and its bytes."""
        assert self._view is not None
        return self._resource.name, stretch_of(self._resource, self._claim)[0], bytes(self._view)

    def keep(self) -> None:
        """Hand on what was changed."""
        self._handle.release()

    def end(self) -> None:
        """Give it back; what was not handed on is as it was before, if it can be undone."""
        self._handle.withdraw()
        self._branch.give(self._resource.name, self._handle)

    def _made(self, view: memoryview) -> Any:
        raise NotImplementedError


class Memory(Piece):
    """Mapped bytes."""

    def _made(self, view: memoryview) -> Any:
        if self._resource.shape is None:
            return view
        import numpy as np

        return np.frombuffer(view, self._resource.dtype).reshape(shape_of(self._resource, self._claim))

    def keep(self) -> None:
        """Hand on what was changed; a function that has hidden the array somewhere can only read it from now on."""
        self._withdraw()
        super().keep()

    def end(self) -> None:
        """Give it back."""
        self._withdraw()
        super().end()

    def _withdraw(self) -> None:
        if self.lent is not None and self._resource.shape is not None:
            self.lent.flags.writeable = False


class File(Piece):
    """A file that a command may read and change."""

    def __init__(self, branch: Branch, resource: Resource, claim: Claim) -> None:
        super().__init__(branch, resource, claim)
        self._path: Path | None = None
        self._copy: Path | None = None

    def _made(self, view: memoryview) -> str:
        self._path = path = path_of(self._handle)
        if self._claim.mode == "read" or not self._resource.undo:
            self._size = len(view)
            return str(path)
        # In the folder of the run, which is removed with all that is in it, or beside the user's file.
        self._copy = path.with_name(f".{secrets.token_hex(4)}-{path.name}")
        with os.fdopen(os.open(self._copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(view)
        return str(self._copy)

    def take_over(self) -> None:
        """Take over what the command has changed."""
        if self._copy is not None and self._view is not None:
            _check_size(self._resource.name, self._copy, len(self._view))
            _take_over(self._copy, self._view)
        elif self._path is not None:
            _check_size(self._resource.name, self._path, self._size)

    def end(self) -> None:
        """Give it back."""
        if self._copy is not None:
            self._copy.unlink(missing_ok=True)
        elif self._path is not None and self._claim.mode == "write" and self._path.stat().st_size < self._size:
            # Others have all of it mapped, and would be killed by a look at what is not there.
            os.truncate(self._path, self._size)
        super().end()


def _check_size(name: str, path: Path, size: int) -> None:
    try:
        found = path.stat().st_size
    except OSError:
        raise Told(f"it has removed the file of `{name}`") from None
    if found < size or (found != size and path.name.startswith(".")):
        raise Told(f"it has left {found:,} bytes of `{name}`, which has {size:,}")


def _take_over(path: Path, view: memoryview) -> None:
    """Copy what is different: what stays the same costs nothing then."""
    with path.open("rb") as file:
        for start in range(0, len(view), _CHUNK):
            with view[start : start + _CHUNK] as place:
                found = file.read(len(place))
                if place != found:
                    place[:] = found


def _copied(value: Any, lent: list[Any]) -> Any:
    kind = type(value)
    if kind in (list, tuple):
        return kind(_copied(one, lent) for one in value)
    if kind is dict:
        return {key: _copied(one, lent) for key, one in value.items()}
    if kind is memoryview:
        return bytes(value)
    np = sys.modules.get("numpy")
    if np is not None and isinstance(value, np.ndarray):
        others = (one for one in lent if isinstance(one, memoryview | np.ndarray))
        if any(
            np.may_share_memory(value, np.frombuffer(one, "u1") if isinstance(one, memoryview) else one)
            for one in others
        ):
            return value.copy()
    return value


def _told(problem: SolventError) -> Told:
    return Told(f"[{problem.code}] {problem.message}")


def lost(name: str) -> str:
    """Say that there is nothing left of a resource."""
    return f"the resource `{name}` is lost: a worker died while it changed it, and nothing was kept (`undo: false`)"


MAX_READ_SECONDS = 2.0
"""How long to wait, at the end of a run, for a function that was given up and still runs."""


class Branch:
    """The space of a run, as one process has it."""

    def __init__(self, estate: Estate, *, is_main: bool) -> None:
        self.is_main = is_main
        self.loans_count = 0
        self._opening = join(estate.space, secret=estate.secret)
        self._space = self._opening.__enter__()
        self._guard = threading.Lock()
        # A handle that is kept keeps the process in the resource's lock: the next call need not enter it again.
        self._idle: dict[str, list[BlockingHandle]] = {}

    def take(self, resource: Resource) -> BlockingHandle:
        """Give a handle that nobody else uses."""
        with self._guard:
            self.loans_count += 1
            idle = self._idle.setdefault(resource.name, [])
            if idle:
                return idle.pop()
        size, file = resource.bytes_count, str(resource.file) or None
        return self._space.handle(resource.name, size=size, file=file, keep_last=resource.undo).create()

    def give(self, name: str, handle: BlockingHandle) -> None:
        """Take a handle back."""
        with self._guard:
            self.loans_count -= 1
            self._idle[name].append(handle)

    def make(self, resource: Resource, changes: Iterable[tuple[int, bytes]] = ()) -> None:
        """Have the data made, and change parts of it."""
        handle = self.take(resource)
        try:
            view = handle.acquire()
            for start, data in changes:
                view[start : start + len(data)] = data
            handle.release()
        finally:
            self.give(resource.name, handle)

    @contextmanager
    def reading(self, resource: Resource) -> Iterator[Path]:
        """Have the data to read, and give the path of its bytes; `TimeoutError` if somebody does not give it back."""
        handle = self.take(resource)
        try:
            handle.acquire("read", timeout=MAX_READ_SECONDS)
            yield path_of(handle)
        finally:
            handle.withdraw()
            self.give(resource.name, handle)

    def close(self) -> None:
        """Leave the space."""
        self._opening.__exit__(None, None, None)


def path_of(handle: BlockingHandle) -> Path:
    """Give the file of the bytes that a handle holds."""
    path = handle.path
    assert path is not None
    return path


_guard = threading.RLock()
_branches: dict[str, Branch] = {}


def branch_of(estate: Estate, *, is_main: bool = False) -> Branch:
    """Give the part of this process in the space of a run."""
    with _guard:
        if estate.space not in _branches:
            for name in [name for name, one in _branches.items() if not one.is_main and not one.loans_count]:
                _branches.pop(name).close()
            _branches[estate.space] = Branch(estate, is_main=is_main)
        return _branches[estate.space]


def close_branch(name: str) -> None:
    """Leave the space of a run, if this process is in it."""
    with _guard:
        found = _branches.pop(name, None)
    if found is not None:
        found.close()


@atexit.register
def _close_all() -> None:
    for name in list(_branches):
        close_branch(name)


def opened(resource: Resource, path: Path) -> Any:
    """Give an array over the bytes of a resource, or a view of them."""
    with path.open("rb") as file:
        size = resource.bytes_count or os.fstat(file.fileno()).st_size
        if not size:
            return memoryview(b"")
        view = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
    if resource.shape is None:
        return view
    try:
        import numpy as np
    except ImportError:
        return view
    return np.frombuffer(view, resource.dtype).reshape(resource.shape)


def save(resource: Resource, found: Any) -> None:
    """Write what a resource holds to the file that was asked for: all of it, or nothing."""
    target = Path(str(resource.save))
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".solvent-")
        try:
            with os.fdopen(handle, "wb") as file:
                _write(resource, found, file)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # noqa: PTH101
            os.replace(name, target)  # noqa: PTH105
        except BaseException:
            os.unlink(name)  # noqa: PTH108
            raise
    except OSError as error:
        message = f"the resource `{resource.name}` cannot be saved to `{target}`: {error.strerror or error}"
        raise WorkflowProblem("W163", message) from error


def _write(resource: Resource, found: Any, file: Any) -> None:
    if str(resource.save).endswith(".npy"):
        try:
            import numpy as np
        except ImportError:
            message = f"the resource `{resource.name}` cannot be saved as an array: NumPy is not installed"
            raise WorkflowProblem("W163", message, hint=install_hint("arrays")) from None
        np.save(file, found)
        return
    file.write(memoryview(found).cast("B"))


__all__ = ["Branch", "Loan", "branch_of", "close_branch", "lost", "opened", "path_of", "save"]
