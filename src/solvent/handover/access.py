"""What a process has of a resource while its claim holds: a view of the bytes, to read or to change.

When it ends, the view is withdrawn and arrays become read-only. What was made from them before (a slice of a view, a
slice of an array) cannot be withdrawn; whoever writes there later writes into what is somebody else's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Misuse
from solvent.handover.contents import bytes_from, shape_of_part
from solvent.handover.data.arrays import array_of, is_resized, resized_form, told_by
from solvent.handover.words import is_part

if TYPE_CHECKING:
    from solvent.handover.contents import Contents
    from solvent.handover.data import Region, Writing
    from solvent.protocols.machine import NodeId


class Access(msgspec.Struct, eq=False):
    """What is held now: by nobody else, if it is to be changed."""

    contents: Contents
    #: Where the bytes are; none of a lock without data.
    region: Region | None = None
    writing: Writing | None = None
    #: What is seen where nothing is written.
    seen: memoryview | None = None
    #: The version that was there before, if all bytes had it.
    over: int = -1
    #: Who had it before, if that one has the same memory as this process, and stays.
    holder: NodeId | None = None
    #: How many hosts are to have what is written before others get it.
    copies: int = 1
    #: The array over the bytes, once somebody has asked for it.
    _array: Any = None

    @property
    def view(self) -> memoryview:
        """The bytes."""
        if self.writing is not None:
            return self.writing.view
        assert self.seen is not None
        return self.seen

    @property
    def is_part(self) -> bool:
        """Whether a part is changed, under a claim of its own."""
        return self.writing is not None and is_part(self.writing.version)

    def part(self) -> memoryview:
        """Give the bytes that were written, before and after they are a version."""
        writing, region = self.writing, self.region
        assert writing is not None
        assert region is not None
        if not writing.is_over:
            return writing.view
        return region.look(offset=writing.start, length=writing.end - writing.start)

    @property
    def version(self) -> int:
        """The version that it is going to be; -1 where nothing is written."""
        return -1 if self.writing is None else self.writing.version

    def array(self, offset: int) -> Any:
        """Give the bytes as an array, the same each time; of a part, its rows or its entries."""
        if self._array is None:
            self._array = self._made_array(offset)
        return self._array

    def _made_array(self, offset: int) -> Any:
        writing, region, view = self.writing, self.region, self.view
        form, size = "", len(view)
        if writing is not None and region is not None:
            form, size = writing.form, size if writing.is_whole else region.size
        elif region is not None:
            form, size = region.sheet.form, region.size
        kind, whole = self._seen_as(form, size)
        lengths = whole if len(view) == size else shape_of_part(whole, kind.itemsize, offset, len(view))
        # What the bytes are for others was said by who made them.
        return array_of(view, "", kind, lengths) if writing is None else writing.array(kind, lengths, is_told=False)

    def _seen_as(self, form: str, size: int) -> tuple[Any, tuple[int, ...]]:
        """Give type and shape: those of who made the data; if that one has said none, those of this handle."""
        contents, told = self.contents, told_by(form)
        if told is None and contents.dtype is not None and contents.shape is not None:
            kind, shape = contents.dtype, contents.shape
            row = kind.itemsize * math.prod(shape[1:])
            return kind, (size // row, *shape[1:]) if is_resized(form) and shape and row else shape
        kind = array_of(memoryview(b""), form, None, (0,)).dtype
        assert told is not None
        return kind, told[1]

    def resize(self, size: int) -> memoryview:
        """Change the number of bytes, and give a new view."""
        if self.writing is None:
            raise Misuse("S104", "only who holds all of a resource, to change it, can change its size")
        # Before anything is changed: what is wrong here would be everybody's.
        size = bytes_from(size)
        self._array = None
        self.writing.resize(size)
        self.writing.describe(resized_form(self.writing.form, size))
        return self.writing.view

    @property
    def can_be_abandoned(self) -> bool:
        """Whether nothing is lost if it ends without a version: the one before is there, or nothing was changed."""
        return self.writing is None or self.region is None or self.region.sheet.keep_last

    def commit(self) -> None:
        """End it; what was changed is a version now."""
        self._array = None
        if self.writing is not None:
            self.writing.commit()
        if self.seen is not None:
            self._withdraw()

    def abandon(self) -> None:
        """End it; what was changed counts for nothing, and what was kept of the last version is put back."""
        self._array = None
        if self.writing is not None:
            self.writing.abandon()
        if self.seen is not None:
            self._withdraw()

    def _withdraw(self) -> None:
        assert self.seen is not None
        try:  # noqa: SIM105 - every release comes by here
            self.seen.release()
        except BufferError:
            pass


__all__ = ["Access"]
