"""A store: all data of one run that a process has, hands over and gets.

    store = Store("run")
    region = store.create("matrix", 50 * 1024 * 1024)
    with region.write(version=1) as writing:
        writing.view[:5] = b"hello"
    where = store.where("matrix")            # told to the next one, by whoever passes the right to write

    region = store.get(where)                # at the next one: attached on the same host, fetched on another
    with region.write(version=2) as writing:
        ...

What is attached stays attached: the next time costs a look at the card, whatever the size.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import weakref
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Self

from solvent.errors import DataLost, DataProblem, Misuse, SolventError
from solvent.handover.data.card import VOID, Sheet, part, version_of, whole
from solvent.handover.data.folder import Folder, sweep
from solvent.handover.data.region import Region, make, names_in, opened, owner_of, stretch_of
from solvent.handover.data.transfer import Fetch, Options, Progress, Server, catch_up, follow, give, look_at
from solvent.handover.data.wire import (
    MAX_NAME_CHARACTERS,
    Dialling,
    Follow,
    Labels,
    Lines,
    Offer,
    Where,
    identity_for,
)
from solvent.handover.data.writing import MAX_BYTES, MAX_FORM_CHARACTERS, can_have
from solvent.net.addresses import text_from_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from solvent.net.addresses import Address

_MAX_PATH_CHARACTERS = 2000
_DEFAULT = Options()


class Store:
    """The data of one run that this process has.

    All stores of a run give the same `run` and `secret`. `address` is where to listen for other hosts, none for those
    that have none; `told` is what they are told instead of it, as `HOST:PORT`, where that is another one. `folder` is
    where the processes of this host share memory, if not in `/dev/shm`. What others offer is taken if it `is_current`:
    said in an epoch that counts here.
    """

    def __init__(
        self,
        run: str,
        *,
        secret: bytes = b"",
        address: Address | None = ("127.0.0.1", 0),
        told: str = "",
        folder: Path | None = None,
        max_bytes: int = MAX_BYTES,
        is_current: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self._max_bytes = max_bytes
        self._token = secrets.token_bytes(16)
        self._regions = dict[str, Region]()
        self._guard = threading.RLock()
        self._is_closed = False
        self._lines = Lines(run, secret)
        sweep(folder)
        self._folder = Folder(run, base=folder)
        self._server: Server | None = None
        try:
            if address is not None:
                identity = identity_for(run, secret, self._token)
                self._server = Server(address, identity, self.region, self._room, is_current, lines=self._lines)
        except BaseException:
            self._folder.leave()
            raise
        self._told = told or (text_from_address(self._server.address) if self._server else "")
        _STORES.add(self)
        atexit.register(self.close)

    def create(
        self,
        resource: str,
        size: int | None = None,
        *,
        path: Path | None = None,
        version: int = 0,
        form: str = "",
        keep_last: bool = False,
        copies: int = 1,
    ) -> Region:
        """Make the memory of a resource on this host: zeros, as `version`, or what is in a file of the user's.

        With `keep_last`, a copy of what is being overwritten is kept, on this host and on all that fetch it.
        """
        if version < 0:
            raise Misuse("D101", f"{version} is no version; they count from 0")
        self._check(resource, size, path, form)
        sheet = _first_sheet(resource, size, path, version=version, form=form, keep_last=keep_last, copies=copies)
        with self._guard, self._folder.making():
            if self.region(resource) is not None:
                hint = "`region` gives it; `remove` removes it"
                raise DataProblem("D210", f"`{resource}` is here already", hint=hint)
            return self._make(sheet, size)

    def region(self, resource: str) -> Region | None:
        """Give the memory of a resource that is on this host, whoever made it; none if there is none."""
        with self._guard:
            self._go_on()
            region = self._regions.get(resource)
            if region is not None:
                if not region.is_removed():
                    return region
                self._regions.pop(resource).close()
            region = opened(self._folder.path, self._folder.stem(resource))
            if region is not None:
                self._regions[resource] = region
            return region

    @contextmanager
    def glance(self, resource: str) -> Iterator[Region | None]:
        """Give the memory of a resource for a look; what this process has not open is closed again."""
        with self._guard:
            self._go_on()
            region = self._regions.get(resource)
        if region is not None and not region.is_removed():
            yield region
            return
        # Nobody else knows of it, so it is closed under nobody.
        region = opened(self._folder.path, self._folder.stem(resource))
        try:
            yield region
        finally:
            if region is not None:
                region.close()

    def names(self) -> list[str]:
        """Give the names of all resources that are on this host, whoever made them."""
        with self._guard:
            self._go_on()
            return names_in(self._folder.path)

    def where(self, resource: str, *, offset: int = 0, length: int | None = None) -> Where:
        """Say where the version is that this host has, of everything or of a stretch."""
        region = self.region(resource)
        if region is None:
            raise DataLost("D201", f"`{resource}` is not here")
        sheet = region.sheet
        version = version_of(part(sheet.extents, *stretch_of(sheet, offset, length)))
        if version is None or version < 0:
            raise DataLost("D202", f"`{resource}` is no version as a whole: it is being written, or torn")
        return Where(
            resource=resource,
            version=version,
            size=sheet.size,
            host=self._folder.host,
            segment=self._folder.stem(resource),
            birth=sheet.birth,
            address=self._told,
            token=self._token,
            form=sheet.form,
            keep_last=sheet.keep_last,
            copies=sheet.copies,
        )

    @property
    def folder(self) -> Folder:
        """The folder that the processes of this host share."""
        return self._folder

    @property
    def place(self) -> tuple[str, str, bytes]:
        """Where this store is: the host, the address for other hosts, and the token to show there."""
        return self._folder.host, self._told, self._token

    def is_here(self, where: Where) -> bool:
        """Tell whether data is in the memory of this host, so that attaching to it is enough."""
        return where.host == self._folder.host

    def attach(self, where: Where, *, offset: int = 0, length: int | None = None) -> Region:
        """Attach to a version that is on this host, or to a stretch; raise `DataLost` if it is not there any more."""
        if not self.is_here(where):
            raise Misuse("D106", f"`{where.resource}` is on another host; fetch it")
        region = self.region(where.resource)
        if region is None or region.birth != where.birth:
            raise DataLost("D201", f"version {where.version} of `{where.resource}` is not here: it was removed")
        sheet = region.sheet
        stretch = stretch_of(sheet, offset, length)
        if version_of(part(sheet.extents, *stretch)) != where.version:
            is_whole = stretch == (0, sheet.size)
            if can_have(sheet, where.version, None if is_whole else stretch):
                region.recover(where.version, offset=offset, length=length)
            region.check(where.version, offset=offset, length=length)
        return region

    def fetching(
        self,
        where: Where,
        *others: Where,
        options: Options = _DEFAULT,
        path: Path | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Fetch:
        """Prepare to fetch a version from another host, or from several that have it; `path` is a file for it here."""
        self._check(where.resource, where.size, path, where.form)
        room = partial(self._room, where, path)
        return Fetch((where, *others), room, self._lines, options=options, on_progress=on_progress)

    def give(self, offer: Offer, to: Where, view: memoryview | None = None) -> int:
        """Have another host take a version that is here as well, or in a view; raise `DataProblem` if it does not.

        Return how many parts were changed there since the version of the whole.
        """
        if view is not None:
            return give(offer, view, to, self._lines)
        region = self.region(offer.resource)
        if region is None:
            raise DataLost("D201", f"`{offer.resource}` is not here")
        with region.look(offset=offer.offset, length=offer.length or None) as here:
            return give(offer, here, to, self._lines)

    def look(self, places: Sequence[Where], start: int, end: int, dialling: Dialling) -> Labels:
        """Ask another host what a stretch of a version has become; raise `DataProblem` if it does not say."""
        return look_at(places, start, end, self._lines, dialling)

    def follow(self, ask: Follow, to: Where | None = None) -> int:
        """Have another host, or this one, catch up with one that has everything; return how many parts it has then."""
        if to is not None:
            return follow(ask, to, self._lines)
        region = self.region(ask.resource)
        if region is None:
            raise DataLost("D201", f"`{ask.resource}` is not here")
        return catch_up(ask, region, self._lines, lambda: None)

    def get(self, where: Where, *others: Where, options: Options = _DEFAULT) -> Region:
        """Get a version, and wait for it: attach where it is on this host, fetch it otherwise."""
        is_elsewhere = not others and not self.is_here(where)
        region = None if is_elsewhere else self._attached((where, *others), options)
        return self.fetching(where, *others, options=options).run() if region is None else region

    def remove(self, resource: str) -> None:
        """Remove the memory of a resource from this host, for all its processes; a file of the user's stays."""
        with self._guard:
            self._go_on()
            with self._folder.making():
                region = self.region(resource)
                if region is not None:
                    region.remove()
                    self._regions.pop(resource).close()

    def move(self, resource: str) -> None:
        """Move the memory of a resource away from a process that has it to write to, and is known never to end that.

        Whoever calls this knows that no other process may write there.
        """
        with self._guard, self._folder.making():
            region = self.region(resource)
            if region is not None and region.is_taken():
                region.move(self._folder.path, self._folder.stem(resource))
                self._regions.pop(resource).close()

    def each(self) -> Iterator[Region]:
        """Give the memory of each resource that is on this host for a look, one after the other."""
        for name in self.names():
            with suppress(SolventError, OSError), self.glance(name) as region:
                if region is not None:
                    yield region

    def let_go(self, resource: str) -> None:
        """Close what this process has open of a resource, unless it is in use; it is opened again when it is needed."""
        with self._guard:
            region = self._regions.get(resource)
            if region is not None and not self._is_closed and not region.is_used:
                self._regions.pop(resource).close()

    def close(self, *, keep: bool = False) -> None:
        """End. The last process of a run on a host takes its memory along, unless it is to be kept for a while."""
        with self._guard:
            if self._is_closed:
                return
            self._is_closed = True
        atexit.unregister(self.close)
        _STORES.discard(self)
        if self._server is not None:
            self._server.close()
        self._lines.close()
        for region in self._regions.values():
            region.close()
        self._folder.leave(keep=keep)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attached(self, places: tuple[Where, ...], options: Options) -> Region | None:
        """Attach to the first place on this host that still has its version; none if all are elsewhere."""
        failures = 0
        for where in places:
            if self.is_here(where):
                try:
                    return self.attach(where, offset=options.offset, length=options.length or None)
                except DataProblem:
                    failures += 1
                    if failures == len(places):
                        raise
        return None

    def _check(self, resource: str, size: int | None, path: Path | None, form: str) -> None:
        """Make sure that all is well with what is asked for."""
        if not 0 < len(resource) <= MAX_NAME_CHARACTERS:
            raise Misuse("D102", f"the name of a resource has 1 to {MAX_NAME_CHARACTERS} characters")
        if size is None and path is None:
            raise Misuse("D102", f"how many bytes `{resource}` has must be said, or which file it is")
        if size is not None and not 0 <= size <= self._max_bytes:
            raise Misuse("D102", f"`{resource}` cannot have {size:,} bytes: from 0 to {self._max_bytes:,} are allowed")
        if len(form) > MAX_FORM_CHARACTERS:
            raise Misuse("D102", f"a form has at most {MAX_FORM_CHARACTERS} characters")
        if path is not None and len(str(path.absolute())) > _MAX_PATH_CHARACTERS:
            raise Misuse("D102", f"the path of a file has at most {_MAX_PATH_CHARACTERS} characters")

    def _room(self, where: Where, path: Path | None = None) -> Region:
        """Give the memory to fetch into; made now, if this host has none of the resource."""
        with self._guard:
            region = self.region(where.resource)
            if region is None:
                sheet = _first_sheet(
                    where.resource,
                    where.size,
                    path,
                    version=VOID,
                    form=where.form,
                    keep_last=where.keep_last,
                    copies=where.copies,
                )
                with self._folder.making():
                    region = self.region(where.resource) or self._make(sheet, sheet.size)
            return region

    def _make(self, sheet: Sheet, size: int | None) -> Region:
        owner = owner_of(self._folder.path, sheet.path) if sheet.path else None
        if owner is not None:
            # Each would write its own version over the other's.
            hint = "a file is the data of one resource; say its name to share it"
            raise Misuse("D102", f"the file `{sheet.path}` is that of `{owner}` already", hint=hint)
        make(self._folder.path, self._folder.stem(sheet.resource), sheet, size=size)
        region = self.region(sheet.resource)
        assert region is not None
        return region

    def _go_on(self) -> None:
        if self._is_closed:
            raise Misuse("D103", "this store is closed", hint="a process that was split off needs a store of its own")

    def _abandon(self) -> None:
        """Let go of everything in a process that was split off: what it inherited would outlive its parent's death."""
        self._is_closed = True
        atexit.unregister(self.close)
        if self._server is not None:
            self._server.abandon()
        self._lines.close()
        for region in self._regions.values():
            region.abandon()
        self._folder.abandon()


def _first_sheet(
    resource: str, size: int | None, path: Path | None, *, version: int, form: str, keep_last: bool, copies: int
) -> Sheet:
    """Write the first sheet of a card."""
    file = "" if path is None else str(path.absolute())
    extents = whole(size or 0, version, 0)
    birth = secrets.randbits(62)
    return Sheet(resource, birth, size or 0, extents, keep_last=keep_last, copies=copies, form=form, path=file)


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def _abandon_all() -> None:
    for store in list(_STORES):
        store._abandon()  # noqa: SLF001
    _STORES.clear()


os.register_at_fork(after_in_child=_abandon_all)

__all__ = ["MAX_BYTES", "Store"]
