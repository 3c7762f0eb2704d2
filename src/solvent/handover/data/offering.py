"""Having another host take a version as well, before whoever wrote it lets others have it.

    giver     Offer      which version it is, which one it is a change of, and what was changed
    taker     a number   what it wants of that: nothing, since it has it, what was changed, or everything; or a Lack
    giver     the bytes
    taker     a number   it has the version now, and so many parts were changed since; or a Lack

The taker keeps what it had until it has all of the new version, so whoever dies meanwhile, a whole one is left.

It has its memory to itself from its first answer on, and nobody sends it anything after giving up. So a version that
comes late never takes the place of a newer one.

A part is taken where everything else of its version is. The host that has the data counts it, as one more; a host that
keeps a copy notes the number that it got there when it has all parts before it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.errors import DataProblem, Misuse, SolventError
from solvent.handover.data.dialling import Dialling, Unwelcome
from solvent.handover.data.extents import SOME, part, version_of
from solvent.handover.data.where import Where
from solvent.handover.data.wire import PIECE_BYTES, Broken, Lack, Line, Offer
from solvent.net.codec import Nonsense

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.handover.data.card import Sheet
    from solvent.handover.data.dialling import Lines
    from solvent.handover.data.region import Region
    from solvent.handover.data.writing import Writing

MAX_RUNS = 1000
"""If more than so many runs of bytes were changed, everything counts as changed."""
_NOTHING, _CHANGED, _EVERYTHING = 0, 1, 2
_BYTES_A_SECOND = 100_000_000
"""So much is put into place at least, while the giver waits for it."""
_MAX_TAKE_SECONDS = 30.0
_PAUSE_SECONDS = 0.002


def give(offer: Offer, view: memoryview, to: Where, lines: Lines) -> int:
    """Have whoever is at a place take a version, whose bytes are in a view; raise `DataProblem` if it does not.

    Return how many parts were changed there since the version of the whole.
    """
    while True:
        is_used = False
        try:
            line, is_used = lines.take(to, Dialling(offer.max_seconds))
            try:
                answer = _given(line, offer, view)
            except BaseException:
                line.close()
                raise
        except Unwelcome as error:
            raise DataProblem("D205", f"{to.address} does not take `{offer.resource}`: {error}") from error
        except (Broken, Nonsense) as error:
            if is_used:
                # It was kept from the last time, and may have been closed by the other side long ago.
                continue
            raise DataProblem("D204", f"{to.address} does not take `{offer.resource}`: {error}") from error
        lines.put_back(to, line)
        if isinstance(answer, Lack):
            raise DataProblem(answer.code, f"{to.address} does not take `{offer.resource}`: {answer.reason}")
        return answer


def _given(line: Line, offer: Offer, view: memoryview) -> int | Lack:
    """Send what is wanted of it, and hear what became of that."""
    line.wait_at_most(offer.max_seconds + offer.size / _BYTES_A_SECOND)
    answer = line.offer(offer)
    if isinstance(answer, Lack):
        return answer
    runs = [] if answer == _NOTHING else list(_pieces(offer, is_changed=answer == _CHANGED))
    for number, (first, last) in enumerate(runs, 1):
        with view[first - offer.offset : last - offer.offset] as piece:
            line.send(piece, is_more_to_come=number < len(runs))
    return line.hear_answer()


def _pieces(offer: Offer, *, is_changed: bool) -> Iterable[tuple[int, int]]:
    """Give what is sent: what was changed, or everything."""
    for first, last in offer.runs or () if is_changed else (_stretch(offer),):
        for start in range(first, last, PIECE_BYTES):
            yield start, min(start + PIECE_BYTES, last)


def _stretch(offer: Offer) -> tuple[int, int]:
    return offer.offset, offer.offset + (offer.length or offer.size)


def take(line: Line, offer: Offer, room: Callable[[Where], Region], is_current: Callable[[int], bool]) -> None:
    """Take what is offered, and say so, or why not: who offers it may not have heard that the others went on."""
    line.wait_at_most(min(offer.max_seconds, _MAX_TAKE_SECONDS))
    try:
        if not is_current(offer.epoch):
            raise DataProblem("D203", f"`{offer.resource}` is in another epoch than {offer.epoch} here")
        region = room(_where(offer))
        writing, wanted = _begun(offer, region)
    except SolventError as error:
        line.say_lack(Lack(error.code, error.message))
        return
    try:
        line.say_size(wanted)
        if writing is not None:
            for first, last in _pieces(offer, is_changed=wanted == _CHANGED):
                with writing.view[first - writing.start : last - writing.start] as place:
                    line.fill(place)
            writing.commit()
        if offer.level[1] > 0:
            wait_for_turn(offer, region)
    except SolventError as error:
        line.say_lack(Lack(error.code, error.message))
        return
    finally:
        if writing is not None:
            with suppress(SolventError):
                writing.abandon()
    parts = region.sheet.level[1] if writing is None else writing.reached[1]
    line.say_size(max(0, parts))


def wait_for_turn(offer: Offer, region: Region) -> None:
    """Note that a part is here when all before it are: who has changed those is about to bring them."""
    end = time.monotonic() + min(offer.max_seconds / 2, _MAX_TAKE_SECONDS)
    while not region.reach(offer.level, is_next=True):
        if time.monotonic() > end or region.sheet.level[1] < 0:
            # Whoever was to bring another part may be dead. There is no use in waiting for it again.
            region.miss(offer.level[0])
            raise _not_whole(offer)
        time.sleep(_PAUSE_SECONDS)


def _not_whole(offer: Offer) -> DataProblem:
    return DataProblem("D201", f"not everything of version {offer.level[0]} of `{offer.resource}` is here")


def _begun(offer: Offer, region: Region) -> tuple[Writing | None, int]:
    """Begin to write it, unless it is here; say what is wanted of it."""
    start, end = _stretch(offer)
    if not 0 <= start <= end <= offer.size or any(not start <= first < last <= end for first, last in offer.runs or ()):
        raise Misuse("D102", f"{start} to {end} is no stretch of `{offer.resource}`, or not what was changed of it")
    region.fence(offer.epoch)
    had = set[int | None]()

    def is_needed(sheet: Sheet) -> bool:
        if sheet.size == offer.size:
            row = part(sheet.extents, start, end) if sheet.size else sheet.extents
            had.add(version_of(row))
        return offer.version not in had

    version, parts = region.sheet.level
    if offer.length and (version != offer.level[0] or parts < 0 or region.size != offer.size):
        raise _not_whole(offer)
    writing = region.write_if(is_needed, offer.version, offset=start, length=offer.length or None)
    if writing is None:
        return None, _NOTHING
    try:
        version, parts = offer.level
        writing.level = (version, SOME) if parts > 0 else offer.level
        writing.epoch = lambda: offer.epoch
        if writing.is_whole and writing.end != offer.size:
            writing.resize(offer.size)
        if writing.is_whole and writing.form != offer.form:
            writing.describe(offer.form)
    except BaseException:
        writing.abandon()
        raise
    return writing, _CHANGED if offer.runs is not None and offer.base in had else _EVERYTHING


def _where(offer: Offer) -> Where:
    """Say what memory is to be made for it, if there is none."""
    return Where(
        resource=offer.resource,
        version=offer.version,
        size=offer.size,
        host="",
        segment="",
        birth=0,
        form=offer.form,
        keep_last=True,
        copies=offer.copies,
    )


__all__ = ["MAX_RUNS", "give", "take", "wait_for_turn"]
