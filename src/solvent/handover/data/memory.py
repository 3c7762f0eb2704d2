"""The bytes of a resource: a file, mapped into this process, shared with all others that map it.

The file lies in the run's folder, that is in memory, or it is one of the user's. Room for it is asked for when it is
made, so that a full memory is an error then, and not a signal that kills whoever writes the page that is not there.

A mapping is made once and kept. If another process has made the file longer, a longer mapping takes its place; views
of the old one stay what they are. Memory that becomes shorter is given back to the system, but the file keeps its
length, and so does a file that is removed: a process that looks at an old view sees zeros, and is not killed. That is
different with a file of the user's, which gets the length that its data has. If somebody else cuts such a file, that is
noticed whenever it is about to be used; who looks through a view at what was cut off is killed by the system.
"""

from __future__ import annotations

import errno
import mmap
import os
from typing import TYPE_CHECKING

from solvent.errors import DataProblem, Misuse
from solvent.handover.data.draft import Draft
from solvent.handover.data.opening import opening

if TYPE_CHECKING:
    from pathlib import Path

_COPY_BYTES = 64 * 1024 * 1024
_CLEAR_BYTES = 1024 * 1024


class Memory:
    """The file of a resource's bytes, open and mapped in this process."""

    def __init__(self, path: Path, *, is_own: bool, is_new: bool = False) -> None:
        self.is_own = is_own
        self.path = path
        self._map: mmap.mmap | None = None
        self._draft: Draft | None = None
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if is_new else 0) | (os.O_NOFOLLOW if is_own else 0)
        try:
            with opening():
                self._file = os.open(path, flags, 0o600)
        except OSError as error:
            if is_own:
                raise
            raise DataProblem("D213", f"the file `{path}` cannot be opened: {error.strerror}") from error

    def length(self) -> int:
        """Give the length of the file."""
        return os.fstat(self._file).st_size

    def reserve(self, size: int) -> None:
        """See to it that there is room for so many bytes."""
        # A mapping has at least one byte, and a page is the least that is kept anyway.
        wanted = max(size, mmap.PAGESIZE) if self.is_own else size
        if wanted <= 0 or (self.length() >= wanted and not self.is_own):
            return
        try:
            os.posix_fallocate(self._file, 0, wanted)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EINVAL):
                raise
            hint = "make room, or name a folder that has more (`folder=`)"
            message = f"there is no room for {size:,} bytes in `{self.path.parent}`"
            raise DataProblem("D211", message, hint=hint) from error

    def resize(self, old: int, size: int) -> None:
        """Make room for more bytes, or give back what lies beyond fewer."""
        if size > old:
            self.reserve(size)
        elif size < old:
            self._cut(old, size)

    def _cut(self, old: int, size: int) -> None:
        if not self.is_own:
            os.ftruncate(self._file, size)
            return
        first = min(-(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE, self.length())
        with self.view(size, first) as rest:
            # Should it grow again, what is new is zero, on the last page as everywhere.
            rest[:] = bytes(len(rest))
        beyond = self.length() - first
        if beyond > 0 and not self._free(first, beyond):
            self._clear(first, old)

    def _clear(self, start: int, end: int) -> None:
        """Put zeros where no memory can be given back."""
        while start < end:
            start += os.pwrite(self._file, bytes(min(end - start, _CLEAR_BYTES)), start)

    def remove(self) -> None:
        """Remove the file and give its memory back at once, although others may still have it mapped."""
        if self.is_own:
            self._free(0, self.length())
            self.path.unlink(missing_ok=True)

    def view(self, start: int, end: int) -> memoryview:
        """Give a writable view of a stretch."""
        if end == 0:
            return memoryview(bytearray())
        return memoryview(self._mapped(end))[start:end]

    def _mapped(self, end: int) -> mmap.mmap:
        """Give the mapping, made anew if it is too short."""
        if self._map is not None and len(self._map) >= end:
            if not self.is_own:
                self.check(end)
            return self._map
        if self._file < 0:
            raise Misuse("D103", "this memory was let go of")
        with opening():
            self._map = mmap.mmap(self._file, self.check(end))
        return self._map

    def check(self, end: int) -> int:
        """Raise `DataProblem` if the file does not reach so far; give its length."""
        length = self.length()
        if length < end:
            message = f"the file `{self.path}` has {length:,} bytes, and {end:,} were there"
            raise DataProblem("D213", message, hint="somebody else has cut it; give it its bytes back, or make it anew")
        return length

    def draft(self, start: int, end: int, *, is_whole: bool) -> Draft:
        """Give a draft of a stretch; raise `OSError` where the system does not allow it."""
        draft = self._draft
        if is_whole and draft is not None and draft.end == end:
            if draft.own is None:
                draft.forget()
            else:
                for run in draft.own:
                    draft.put(run[0], self.bytes_of(*run))
            return draft
        made = Draft(self._file, start, end)
        if is_whole:
            self._draft = made
        return made

    def end_draft(self, draft: Draft, own: list[tuple[int, int]] | None) -> None:
        """Take a draft back; that of everything is kept for the next time, with the few pages that are its own."""
        if draft is not self._draft:
            draft.close()
            return
        if own is None:
            draft.forget()
        # Who still has a view of it may write what nobody is to see.
        if own is None or not draft.is_unseen():
            draft.own = None
        else:
            draft.own = own

    def put(self, start: int, data: bytes) -> None:
        """Put a few bytes into their place."""
        self._mapped(start + len(data))[start : start + len(data)] = data

    def bytes_of(self, start: int, end: int) -> bytes:
        """Give a copy of a few bytes."""
        return self._mapped(end)[start:end]

    def flush(self) -> None:
        """Have the system write to the disk what it has not yet written of a file of the user's."""
        if self._map is not None:
            self._map.flush()

    def copy_out(self, path: Path, start: int, end: int) -> None:
        """Copy a stretch to the same place of another file."""
        with opening():
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            # Writing to the file, and not to a mapping of it, lets other threads go on meanwhile.
            with self.view(start, end) as view:
                while start < end:
                    with view[-(end - start) :][:_COPY_BYTES] as rest:
                        start += os.pwrite(file, rest, start)
        except OSError as error:
            raise DataProblem("D211", f"there is no room to keep the last version: {error.strerror}") from error
        finally:
            os.close(file)

    def copy_in(self, path: Path, start: int, end: int) -> None:
        """Copy a stretch back."""
        with opening():
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            with self.view(start, end) as view:
                while start < end:
                    with view[-(end - start) :][:_COPY_BYTES] as rest:
                        read = os.preadv(file, [rest], start)
                    if not read:
                        raise DataProblem("D206", f"the kept copy `{path.name}` is too short")
                    start += read
        finally:
            os.close(file)

    def close(self) -> None:
        """Let go of the file; it is unmapped with the last view or array that somebody still has, see `Draft.close`."""
        if self._draft is not None:
            self._draft.close()
            self._draft = None
        self._map = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _free(self, start: int, length: int) -> bool:
        """Give memory back; tell whether this system and the file's can do that."""
        if not hasattr(mmap, "MADV_REMOVE"):
            return False
        try:
            with mmap.mmap(self._file, self.length()) as whole:
                whole.madvise(mmap.MADV_REMOVE, start, length)
        except (OSError, ValueError):
            return False
        return True


__all__ = ["Memory"]
