"""A process of a space, as its user sees it: what `solvent.shared` gives.

    async with solvent.shared.join("run") as space:
        async with space.handle("matrix", array=((1000, 1000), float)) as h:
            h.request()
            ...                             # something else, while it comes
            await h.acquire()
            h.array[0] += 1
            h.release()

    with solvent.shared.join("run") as space, space.handle("matrix") as h:    # the same without asyncio
        view = h.acquire()
        ...

After S. L. Hernane, J. Gustedt and M. Benyettou, "Data handover on a peer-to-peer system" (Inria, RR-8690, 2015). There
is no server: processes of one host find each other by the name of the space, those of others by an address.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse
from solvent.handover.contents import claim_from, contents_from, with_copies
from solvent.handover.handle import BlockingHandle, Handle
from solvent.handover.node import SpaceNode
from solvent.handover.place import SpacePlace, is_name, place_from
from solvent.handover.threads import in_background, in_thread
from solvent.net.status_files import Poster, board_from

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path
    from types import TracebackType

    from solvent.handover.claiming import Mode
    from solvent.net import Address, Counters
    from solvent.net.secrecy import Secret

MAX_RESOURCE_CHARACTERS = 500
MAX_STOP_SECONDS = 0.8
"""How long who is cancelled on its way in waits until nothing is left of it; a silent network may take longer."""


class _Inside:
    """What a process of a space knows of it."""

    def __init__(self, node: SpaceNode) -> None:
        self._node = node

    @property
    def name(self) -> str:
        """The name that the processes share."""
        return self._node.place.name

    @property
    def node(self) -> int:
        """The number of this process; no other process ever has it."""
        return self._node.node

    @property
    def address(self) -> str:
        """The address at which processes of other hosts can join."""
        return self._node.home.address

    @property
    def members(self) -> dict[int, str]:
        """The processes that this one knows, and their addresses."""
        return {node: home.address for node, home in sorted(self._node.members.items())}

    @property
    def founder(self) -> int:
        """The process that lets others in, as far as is known here; another one when it leaves or dies."""
        founder: int = self._node.host.state.founder
        return founder

    @property
    def counters(self) -> Counters:
        """Counters of this process: messages, bytes, steps."""
        return self._node.host.counters


def _check_name(resource: Any) -> None:
    if not is_name(resource, MAX_RESOURCE_CHARACTERS):
        message = f"the name of a resource is text of 1 to {MAX_RESOURCE_CHARACTERS} characters, not {resource!r:.50}"
        raise Misuse("S102", message)


class BlockingSpace(_Inside):
    """The processes that share data under a name, for code without asyncio: what `with shared.join(name)` gives.

    >>> import os
    >>> from solvent import shared
    >>> with shared.join(f"example-{os.getpid()}") as space:
    ...     with space.handle("counter", size=8) as counter:
    ...         counter.acquire()[0] += 1
    ...         counter.release()
    ...     len(space.members)
    1
    """

    def handle(
        self,
        resource: str,
        *,
        size: int | None = None,
        initial: Any = None,
        array: tuple[Any, Any] | None = None,
        file: str | PathLike[str] | None = None,
        keep_last: bool = True,
        copies: int | None = None,
        mode: Mode = "write",
        offset: int = 0,
        length: int | None = None,
        timeout: float | None = None,
    ) -> BlockingHandle:
        """Return a handle of a resource, to be entered with `with`. See `Space.handle` for arguments and errors."""
        _check_name(resource)
        contents = contents_from(size=size, initial=initial, array=array, file=file)
        contents = with_copies(contents, copies, keep_last=keep_last)
        claim = claim_from(mode, offset, length)
        return BlockingHandle(self._node, resource, contents, keep_last=keep_last, claim=claim, timeout=timeout)


class Space(_Inside):
    """The processes that share data under a name, for coroutines: what `async with shared.join(name)` gives.

    >>> import asyncio, os
    >>> from solvent import shared
    >>> async def greet() -> bytes:
    ...     async with shared.join(f"example-{os.getpid()}") as space, space.handle("text", initial=b"hello") as text:
    ...         view = await text.acquire(timeout=10)
    ...         view[0:1] = b"J"
    ...         return bytes(view)
    >>> asyncio.run(greet())
    b'Jello'
    """

    def handle(
        self,
        resource: str,
        *,
        size: int | None = None,
        initial: Any = None,
        array: tuple[Any, Any] | None = None,
        file: str | PathLike[str] | None = None,
        keep_last: bool = True,
        copies: int | None = None,
        mode: Mode = "write",
        offset: int = 0,
        length: int | None = None,
        timeout: float | None = None,
    ) -> Handle:
        """Return a handle of a resource, to be entered with `async with`.

        The first process makes the data, of one of these; the others say the same or nothing. A handle without any of
        them uses what others make, or is a lock alone.

        - `size`: this many zero bytes.
        - `initial`: these bytes, or a NumPy array.
        - `array`: shape and type of an array of zeros: `array=((100, 100), float)`.
        - `file`: a file, which is mapped; what is released is in it.

        Options:

        - `keep_last`: keep the last released version while the next one is written, so that it survives a process that
          dies meanwhile. Without it, that data may be lost.
        - `copies`: how many hosts keep each released version; a release waits for them, as far as there are so many. By
          default two; of a file, or without `keep_last`, one.
        - `mode`, `offset`, `length`: what `acquire` and `request` claim where nothing else is said.
        - `timeout`: how many seconds to wait to take part and to acquire, where nothing else is said; for ever by
          default.

        Raises `Misuse` (S102) for arguments that are wrong.
        """
        _check_name(resource)
        contents = contents_from(size=size, initial=initial, array=array, file=file)
        contents = with_copies(contents, copies, keep_last=keep_last)
        claim = claim_from(mode, offset, length)
        return Handle(self._node, resource, contents, keep_last=keep_last, claim=claim, timeout=timeout)


class Opening:
    """What `shared.join` returns: enter it once, with `with` (`BlockingSpace`) or `async with` (`Space`).

    At the end of the block the process leaves: what is still held is released, or, after an exception, withdrawn.

    >>> import os
    >>> from solvent import shared
    >>> opening = shared.join(f"example-{os.getpid()}")
    >>> with opening as space:
    ...     space.name == f"example-{os.getpid()}"
    True
    """

    def __init__(self, place: SpacePlace, board: Path | None = None) -> None:
        self._node = SpaceNode(place)
        self._is_entered = False
        self._board = board
        self._poster: Poster | None = None

    def __enter__(self) -> BlockingSpace:
        self._begin()
        self._node.open()
        try:
            self._post()
        except BaseException:
            self._node.depart(is_released=False)
            raise
        return BlockingSpace(self._node)

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._post_no_more()
        finally:
            self._node.depart(is_released=fault is None)

    async def __aenter__(self) -> Space:
        self._begin()
        node = self._node
        entering = in_thread(node.open, f"solvent-enter-{node.place.name}")
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            node.admission.stop()
            await asyncio.wait([entering], timeout=MAX_STOP_SECONDS)
            if entering.done() and entering.exception() is None:
                in_background(partial(node.depart, is_released=False), f"solvent-leave-{node.place.name}")
            raise
        try:
            self._post()
        except BaseException:
            await self._depart(is_released=False)
            raise
        return Space(node)

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._post_no_more()
        finally:
            await self._depart(is_released=fault is None)

    async def _depart(self, *, is_released: bool) -> None:
        node = self._node
        await in_thread(lambda: node.depart(is_released=is_released), f"solvent-leave-{node.place.name}")

    def _post(self) -> None:
        if self._board is not None:
            node = self._node
            self._poster = Poster(self._board, "space", node.place.name, node.node, partial(described, node))
            self._poster.start()

    def _post_no_more(self) -> None:
        # In a copy of the process (`fork`) there is no such thread, and the notice is not its own.
        if self._poster is not None and self._node.is_here:
            self._poster.stop()

    def _begin(self) -> None:
        if self._is_entered:
            raise Misuse("S103", "a space is entered once", hint="call `solvent.shared.join(...)` again")
        self._is_entered = True


def join(
    name: str,
    *,
    join: str | Address | tuple[str, ...] | list[str] | None = None,
    listen: str | Address | None = None,
    address: str | None = None,
    secret: Secret = None,
    patience: float = 5.0,
    folder: str | PathLike[str] | None = None,
    keep: bool = False,
    board: bool | str | PathLike[str] | None = None,
) -> Opening:
    """Join the processes that share data under a name: `with shared.join("run") as space:`, or `async with`.

    Processes of one host find each other by the name. Others `join` at the address of any process, which must `listen`
    where they can reach it.

    - `join`: the address of a process on another host, or several; processes of one host need none.
    - `listen`, `address`: where to listen, `HOST:PORT`; the name of this host as others know it, if that is another.
    - `secret`: only processes with the same secret can join. Without one, only processes of this user on this machine
      can. Beyond this machine one is required, or `secret=False` to let in anybody. Messages are not encrypted.
    - `patience`: after how many seconds of silence a process of another host is taken for dead.
    - `folder`: where processes of this host share memory, if not in `/dev/shm`.
    - `keep`: let the data outlive the last process for a minute, and find what was kept.
    - `board`: `True`, or a folder: publish the status, for `solvent web`; also `SOLVENT_BOARD=on`.

    Raises `Misuse` (S101, S210) and `NodeProblem` (N104, N106) for arguments that are wrong; entering raises
    `SpaceProblem` (S201, S202) if no process is found, or lets this one in.

    >>> import os
    >>> from solvent import shared
    >>> with shared.join(f"example-{os.getpid()}") as space, space.handle("counter", size=8) as counter:
    ...     view = counter.acquire()
    ...     view[0] += 1
    ...     counter.release()
    """
    place = place_from(
        name,
        join=join,
        listen=listen,
        address=address,
        secret=secret,
        patience=patience,
        folder=folder,
        keep=keep,
    )
    try:
        return Opening(place, board_from(board))
    except TypeError:
        hint = "give a folder, or True for the usual one"
        raise Misuse("S101", f"{board!r} is no board", hint=hint) from None


def described(node: SpaceNode) -> dict[str, Any]:
    """Tell lookers-on what a process has and waits for."""
    return {
        "address": node.home.address,
        "members": sorted(node.members),
        "founder": node.host.state.founder,
        "messages": node.host.counters.messages_sent,
        "claims": [
            {"resource": name, **one} for name, resource in list(node.resources.items()) for one in resource.claims()
        ],
        "resources": sorted(node.resources),
    }


__all__ = ["BlockingSpace", "Opening", "Space", "join"]
