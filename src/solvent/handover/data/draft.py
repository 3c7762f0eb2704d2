"""A draft: the bytes of a stretch, to be changed where nobody else sees it.

It is a private mapping of the file. Until a page is written it is the page of the file; the first write to it gives
the process a copy of its own. So the version that is in the file stays there, however the process ends, and what a
draft costs grows with the pages that are changed and not with the size of the resource.

A few pages that were changed stay the process's own from one draft to the next, and are brought up to date then: most
of the time the same ones are changed again, and need not be copied by the kernel each time.

Which pages those are is asked of the kernel: it says of each page of a process whether it still is one of a file.
From Linux 6.7 on one call names those that are not, and skips what was never touched; before that, the table of all
pages is read, at eight bytes for each. Where there is neither, `can_draft` says so.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import sys
from array import array
from functools import cache

from solvent.handover.data.opening import opening

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

__all__ = ["Asking", "Draft", "can_draft"]
