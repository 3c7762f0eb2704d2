"""What is handed over: bytes, a NumPy array, or a file; what is claimed of it, and for how long one waits.

The first process that gets a resource makes its data of what it was told. All others find it made. What they say must
be the same, as far as they say anything; but of bytes that nobody calls an array each may say how it wants to see them.

While a claim holds, its process has a view of the bytes, to read or to change (`Access`). When it ends, the view is
withdrawn and arrays become read-only. What was made from them before (a slice of a view, a slice of an array) cannot be
withdrawn; whoever writes there later writes into what is somebody else's.
"""

from __future__ import annotations

import math
import operator
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Misuse
from solvent.handover.data.arrays import array_of, form_of, is_resized, resized_form, told_by
from solvent.handover.words import is_part
from solvent.protocols.elmp.vocabulary import Claim

if TYPE_CHECKING:
    from os import PathLike

    from solvent.handover.data import Region, Writing
    from solvent.handover.data.card import Sheet
    from solvent.protocols.machine import NodeId


USUAL_COPIES = 2
MAX_COPIES = 16


@dataclass(frozen=True, slots=True)
class Contents:
    """What a resource is made of, if nobody has made it before."""

    #: How many bytes; none: as many as the file has, or nothing is known of it here.
    size: int | None = None
    initial: memoryview | None = None
    path: Path | None = None
    #: Type and shape of an array, and the same in words for those that are told nothing.
    dtype: Any = None
    shape: tuple[int, ...] | None = None
    form: str = ""
    #: How many hosts are to have a version before others get it.
    copies: int = 1

    @property
    def can_make(self) -> bool:
        """Whether it says enough to make the data; without, a handle is a lock, or uses what others make."""
        return self.size is not None or self.path is not None

    def check(self, sheet: Sheet) -> None:
        """Raise `Misuse` if what is there is something else than what is said here.

        After a change of the size, what was said of the size counts no longer, nor how many rows an array has.
        """
        form, there = sheet.form, told_by(sheet.form)
        is_other_size = is_resized(form)
        if self.dtype is not None and self.shape is not None and there is not None:
            first = 1 if is_other_size else 0
            if self.dtype.str != there[0] or self.shape[first:] != there[1][first:] or self.dtype.names is not None:
                raise _other(sheet, f"an array of {_spelt(*there)}", f"one of {_spelt(self.dtype, self.shape)}")
        elif self.size is not None and self.size != sheet.size and not is_other_size:
            raise _other(sheet, f"{sheet.size:,} bytes", f"{self.size:,}")
        if self.path is not None and str(self.path) != sheet.path and not _is_same(str(self.path), sheet.path):
            raise _other(sheet, f"the file `{sheet.path}`" if sheet.path else "in memory", f"the file `{self.path}`")


NOTHING = Contents()


def _other(sheet: Sheet, found: str, said: str) -> Misuse:
    hint = "say the same as who made it, or nothing: then it is as it is"
    return Misuse("S105", f"`{sheet.resource}` is {found}, and {said} was said", hint=hint)


def _spelt(dtype: Any, shape: tuple[int, ...]) -> str:
    return f"{shape} {getattr(dtype, 'str', dtype)}"


def _is_same(one: str, other: str) -> bool:
    try:
        return bool(other) and os.path.samefile(one, other)  # noqa: PTH121 - of paths as they were said
    except OSError:
        return False


def contents_from(
    *,
    size: Any,
    initial: Any,
    array: tuple[Any, Any] | None,
    file: str | PathLike[str] | None,
) -> Contents:
    """Read and check what is given."""
    if sum(given is not None for given in (initial, array, file)) > 1:
        hint = "give `initial`, `array` or `file`; a `size` only with `file`, or alone"
        raise Misuse("S102", "data is said to be several things at once", hint=hint)
    if size is not None:
        size = bytes_from(size)
    if size is not None and (initial is not None or array is not None):
        raise Misuse("S102", "a size is said twice: what is given has one")
    if file is not None:
        return Contents(size=size, path=_path_from(file))
    if array is not None:
        return _of_array(array)
    if initial is not None:
        return _of_initial(initial)
    return Contents(size=size)


def _path_from(file: str | PathLike[str]) -> Path:
    """Read the path of a file; what it is called is told to others."""
    try:
        path = Path(file).absolute()
        is_name = b"\0" not in str(path).encode()
    except (TypeError, UnicodeEncodeError):
        is_name = False
    if not is_name:
        raise Misuse("S102", f"{file!r} is no file")
    return path


def with_copies(contents: Contents, given: Any, *, keep_last: Any) -> Contents:
    """Read and check whether the last version is kept, and how many hosts are to have each: two, if nothing is said."""
    if not isinstance(keep_last, bool):
        raise Misuse("S102", f"{keep_last!r} does not say whether to keep the last version", hint="give True or False")
    copies = (1 if contents.path is not None or not keep_last else USUAL_COPIES) if given is None else _number(given)
    if copies is None or not 1 <= copies <= MAX_COPIES:
        raise Misuse("S102", f"{given!r} is no number of copies", hint=f"say on how many hosts: 1 to {MAX_COPIES}")
    if copies > 1 and (contents.path is not None or not keep_last):
        hint = "a file stays where it is; and who does not keep the last version has none to copy"
        raise Misuse("S102", "copies are made of data in memory, with `keep_last`", hint=hint)
    return contents if copies == 1 else replace(contents, copies=copies)


def bytes_from(given: Any) -> int:
    """Read and check a number of bytes."""
    number = _number(given)
    if number is None or number < 0:
        raise Misuse("S102", f"{given!r} is no number of bytes")
    return number


def _number(given: Any) -> int | None:
    """Read a whole number, of whichever kind; none if it is none."""
    try:
        return None if isinstance(given, bool) else operator.index(given)
    except TypeError:
        return None


def _of_array(array: Any) -> Contents:
    match array:
        case ((*lengths,), dtype):
            numbers = [_number(length) for length in lengths]
        case (length, dtype):
            numbers = [_number(length)]
        case _:
            numbers = [None]
    shape = tuple(number for number in numbers if number is not None)
    if len(shape) < len(numbers):
        raise Misuse("S102", f"{array!r} is no array", hint="give shape and type: `array=((100, 100), float)`")
    if any(length < 0 for length in shape):
        raise Misuse("S102", f"{shape} is no shape")
    kind, within = _kind_of(dtype)
    shape += within
    form = form_of(SimpleNamespace(dtype=kind, shape=shape))
    return Contents(size=kind.itemsize * math.prod(shape), dtype=kind, shape=shape, form=form)


def _kind_of(dtype: Any) -> tuple[Any, tuple[int, ...]]:
    """Make sure that it is a type of arrays that can be shared; give that of their entries, and what shape it adds."""
    array = array_of(memoryview(bytearray()), "", dtype, (0,))
    return array.dtype, array.shape[1:]


def _of_initial(initial: Any) -> Contents:
    """Take bytes as they are, and an array as one."""
    try:
        view = _buffer_of(initial)
    except TypeError as error:
        hint = "give bytes, or an array"
        raise Misuse("S102", f"a `{type(initial).__name__}` cannot be handed over", hint=hint) from error
    if hasattr(initial, "dtype") and hasattr(initial, "shape"):
        _kind_of(initial.dtype)
        flat = view if view.c_contiguous else memoryview(initial.copy(order="C"))
        return Contents(
            size=view.nbytes,
            initial=_bytes_of(flat),
            dtype=initial.dtype,
            shape=tuple(initial.shape),
            form=form_of(initial),
        )
    if not view.c_contiguous:
        raise Misuse("S102", "what is given does not lie in one piece", hint="give `bytes(...)` of it")
    return Contents(size=view.nbytes, initial=_bytes_of(view))


def _buffer_of(initial: Any) -> memoryview:
    """Give its memory; of types that only NumPy knows, such as dates, the bytes."""
    try:
        return memoryview(initial)
    except ValueError as error:
        if not hasattr(initial, "dtype"):
            raise TypeError from error
        _kind_of(initial.dtype)
        return memoryview(initial.copy(order="C").reshape(-1).view("u1"))


def _bytes_of(view: memoryview) -> memoryview:
    return view.cast("B") if view.nbytes else memoryview(b"")


def shape_of_part(shape: tuple[int, ...], itemsize: int, offset: int, length: int) -> tuple[int, ...]:
    """Give the shape of an array of a part: whole rows where it is some, else entries one after the other."""
    row = itemsize * math.prod(shape[1:])
    if row and offset % row == 0 and length % row == 0:
        return (length // row, *shape[1:])
    if offset % itemsize or length % itemsize:
        hint = f"an entry has {itemsize} bytes; claim whole ones, or use the view"
        raise Misuse("S102", f"{length} bytes from {offset} are no entries of the array", hint=hint)
    return (length // itemsize,)


def claim_from(mode: Any, offset: Any, length: Any) -> Claim:
    """Read and check what is to be claimed."""
    if mode not in ("write", "read"):
        raise Misuse("S102", f"{mode!r} is no way to claim a resource", hint='it is "write" or "read"')
    offset = bytes_from(offset)
    length = None if length is None else bytes_from(length)
    if length == 0:
        raise Misuse("S102", "a part of no bytes cannot be claimed")
    return Claim(is_shared=mode == "read", first=offset, length=length)


def seconds_from(timeout: Any) -> float | None:
    """Read and check how long to wait."""
    if timeout is None:
        return None
    if not isinstance(timeout, (int, float)) or isinstance(timeout, bool) or timeout != timeout:  # noqa: PLR0124 - NaN
        raise Misuse("S102", f"{timeout!r} is no time to wait", hint="give seconds, or nothing to wait for ever")
    # What is more than any number of seconds is for ever, too.
    return None if timeout > sys.float_info.max else max(0.0, timeout)


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


__all__ = [
    "MAX_COPIES",
    "NOTHING",
    "Access",
    "Contents",
    "bytes_from",
    "claim_from",
    "contents_from",
    "seconds_from",
    "shape_of_part",
    "with_copies",
]
