"""The bytes of a resource: a file, mapped into this process, shared with all others that map it.

The file lies in the run's folder, that is in memory, or it is one of the user's. Room for it is asked for when it is
made, so that a full memory is an error then, and not a signal that kills whoever writes the page that is not there.

A mapping is made once and kept. If another process has made the file longer, a longer mapping takes its place; views
of the old one stay what they are. Memory that becomes shorter is given back to the system, but the file keeps its
length, and so does a file that is removed: a process that looks at an old view sees zeros, and is not killed. That is
different with a file of the user's, which gets the length that its data has. If somebody else cuts such a file, that is
noticed whenever it is about to be used; who looks through a view at what was cut off is killed by the system.

A *draft* has the bytes of a stretch, to be changed where nobody else sees it: a private mapping of the file. Until a
page is written it is the page of the file; the first write to it gives the process a copy of its own. So the version
that is in the file stays there, however the process ends, and what a draft costs grows with the pages that are changed
and not with the size of the resource.

A few pages that were changed stay the process's own from one draft to the next, and are brought up to date then: most
of the time the same ones are changed again, and need not be copied by the kernel each time.

Which pages those are is asked of the kernel: it says of each page of a process whether it still is one of a file.
From Linux 6.7 on one call names those that are not, and skips what was never touched; before that, the table of all
pages is read, at eight bytes for each. Where there is neither, `can_draft` says so.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct
import sys
from array import array
from functools import cache
from typing import TYPE_CHECKING

from solvent.errors import DataProblem, Misuse
from solvent.handover.data.opening import opening

if TYPE_CHECKING:
    from pathlib import Path


_PAGEMAP = "/proc/self/pagemap"
#: `PAGEMAP_SCAN` of the kernel's `fs.h`, and its argument.
_SCAN = 0xC0606610
_SCAN_ARGUMENT = struct.Struct("=12Q")
_WALK_END = struct.Struct("=32xQ")
_FILE, _PRESENT, _SWAPPED = 1 << 2, 1 << 3, 1 << 4
#: Of no file, but there or swapped out; how many runs are asked for first, and then.
_WANTED = (0, _FILE, _FILE, _PRESENT | _SWAPPED, _PRESENT)
_FEW, _MANY = 16, 512
#: The same in the highest byte of an entry of the table: there or swapped out, and not of a file.
_OWN = bytes(bool(byte & 0xC0) and not byte & 0x20 for byte in range(256))
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
_NONE = mmap.mmap(-1, 1)
_NONE.close()


class Asking:
    """The question which pages between two addresses are this process's own, asked as often as needed."""

    def __init__(self, start: int, end: int) -> None:
        self._start, self._end = start, end
        # Made once: most of the time the answer is a page or two.
        self._found = array("Q", bytes(24 * _FEW))
        self._argument = self._question(start, self._found)

    def own_pages(self) -> list[tuple[int, int]]:
        """Give the runs of pages."""
        try:
            return self.scanned()
        except OSError:
            return self.looked_up()

    def scanned(self) -> list[tuple[int, int]]:
        """Ask for those alone; raise `OSError` where that is not possible."""
        file, found, argument = _pagemap(), self._found, self._argument
        count = fcntl.ioctl(file, _SCAN, argument, True)
        runs = [(found[index], found[index + 1]) for index in range(0, 3 * count, 3)]
        (done,) = _WALK_END.unpack_from(argument)
        if done < self._end:
            found = array("Q", bytes(24 * _MANY))
        while done < self._end:
            argument = self._question(done, found)
            count = fcntl.ioctl(file, _SCAN, argument, True)
            runs += [(found[index], found[index + 1]) for index in range(0, 3 * count, 3)]
            (done,) = _WALK_END.unpack_from(argument)
        return runs

    def looked_up(self) -> list[tuple[int, int]]:
        """Look through the table of all pages."""
        page, start = mmap.PAGESIZE, self._start
        count = (self._end - start) // page
        own = os.pread(_pagemap(), 8 * count, start // page * 8)[7::8].translate(_OWN)
        if len(own) < count:
            raise OSError("the table of pages is too short")
        runs = list[tuple[int, int]]()
        last = 0
        while (first := own.find(1, last)) >= 0:
            last = own.find(0, first)
            last = count if last < 0 else last
            runs.append((start + first * page, start + last * page))
        return runs

    def _question(self, start: int, found: array[int]) -> bytearray:
        place, room = found.buffer_info()
        return bytearray(_SCAN_ARGUMENT.pack(96, 0, start, self._end, 0, place, room // 3, *_WANTED))


class Draft:
    """A stretch from `start` to before `end` of a file, mapped for one writing after the other."""

    def __init__(self, file: int, start: int, end: int) -> None:
        """Map it; the file must have all of it. Raises `OSError` or `ValueError` where it cannot be mapped."""
        import ctypes

        self.start, self.end = start, end
        self._first = start // mmap.PAGESIZE * mmap.PAGESIZE
        length = max(1, end - self._first)
        self._map = mmap.mmap(file, length, flags=mmap.MAP_PRIVATE | _NO_RESERVE, offset=self._first)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        pages = -(-length // mmap.PAGESIZE)
        self._asking = Asking(self._address, self._address + pages * mmap.PAGESIZE)
        #: The runs that are this process's own, if they are known and few: they are brought up to date next time.
        self.own: list[tuple[int, int]] | None = []
        self._references = sys.getrefcount(self._map)

    def view(self, start: int, end: int) -> memoryview:
        """Give a writable view of a part."""
        return memoryview(self._map)[start - self._first : end - self._first]

    def changed(self, end: int) -> list[tuple[int, int]]:
        """Give the runs of bytes before `end` that may have been changed: whole pages, cut at the draft's ends."""
        shift, start = self._first - self._address, self.start
        cut = [(max(first + shift, start), min(last + shift, end)) for first, last in self._asking.own_pages()]
        return [run for run in cut if run[0] < run[1]]

    def bytes_of(self, start: int, end: int) -> bytes:
        """Give a copy of a part."""
        return self._map[start - self._first : end - self._first]

    def put(self, start: int, data: bytes) -> None:
        """Change a part, and nobody notices."""
        self._map[start - self._first : start - self._first + len(data)] = data

    def is_unseen(self) -> bool:
        """Tell whether nobody has a view of it: each holds the mapping, and CPython counts who does."""
        return sys.getrefcount(self._map) == self._references

    def drop(self, start: int, end: int) -> None:
        """Give back the memory of what was changed in a part that begins where a page does, or the draft."""
        first = (start - self._first) // mmap.PAGESIZE * mmap.PAGESIZE
        self._map.madvise(mmap.MADV_DONTNEED, first, end - self._first - first)

    def forget(self) -> None:
        """Drop what was changed: the bytes are those of the file again."""
        self._map.madvise(mmap.MADV_DONTNEED)
        self.own = []

    def close(self) -> None:
        """Let go of it; it is unmapped with the last view or array that somebody still has."""
        # To close it would unmap it under arrays: NumPy has a reference to a mapping, but no claim to its buffer.
        self._map = _NONE


@cache
def can_draft() -> bool:
    """Tell whether this system says which pages of a mapping were changed: try it out."""
    if not hasattr(mmap, "MADV_DONTNEED") or not hasattr(os, "memfd_create"):
        return False
    page = mmap.PAGESIZE
    try:
        with opening():
            file = os.memfd_create("solvent-draft")
        try:
            os.ftruncate(file, 4 * page)
            draft = Draft(file, 0, 4 * page)
            before = draft.view(page, 2 * page)[0]
            draft.view(2 * page, 3 * page)[5] = before + 1
            found = draft.changed(4 * page)
            draft.close()
        finally:
            os.close(file)
    except (OSError, ImportError):
        return False
    return found == [(2 * page, 3 * page)]


@cache
def _pagemap() -> int:
    with opening():
        return os.open(_PAGEMAP, os.O_RDONLY | os.O_CLOEXEC)


def _forget_pagemap() -> None:
    """Close what a copy of the process inherited: it would show the pages of its parent."""
    if _pagemap.cache_info().currsize:
        os.close(_pagemap())
        _pagemap.cache_clear()


os.register_at_fork(after_in_child=_forget_pagemap)


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


__all__ = ["Asking", "Draft", "Memory", "can_draft"]
