"""The thread that hands data to other hosts: it listens, and has a thread for each that fetches.

It serves whatever lies in the run's folder of this host, also what a process has written that is not there any more: as
long as one process of the run is alive on a host, the data of that host can be had.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from solvent.errors import DataLost, Misuse, SolventError
from solvent.handover.data.dialling import MAX_IDLE_SECONDS, welcome
from solvent.handover.data.extents import part, version_of
from solvent.handover.data.offering import take
from solvent.handover.data.wire import MAX_PIECE_BYTES, Broken, Labels, Lack, Line, Look, Offer, Want
from solvent.net.addresses import cannot_listen
from solvent.net.codec import Nonsense

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.data.card import Sheet
    from solvent.handover.data.region import Region
    from solvent.handover.data.where import Where
    from solvent.net.addresses import Address
    from solvent.net.handshake import Identity

MAX_CONNECTIONS = 256
_MAX_HANDSHAKE_SECONDS = 5.0
_MAX_SEND_SECONDS = 30.0
_MAX_CLOSE_SECONDS = 5.0


class Server:
    """Hands data to those that fetch it, until it is closed."""

    def __init__(
        self,
        address: Address,
        identity: Identity,
        find: Callable[[str], Region | None],
        room: Callable[[Where], Region],
        is_current: Callable[[int], bool],
    ) -> None:
        """Hand out what `find` finds, and take what is offered in this epoch into the memory that `room` gives."""
        host, port = address
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self._listening = socket.create_server((host, port), family=family, backlog=64)
        except (OSError, OverflowError) as error:
            raise cannot_listen(address, error) from error
        self.address: Address = self._listening.getsockname()[:2]
        self._identity = identity
        self._find = find
        self._room = room
        self._is_current = is_current
        self._guard = threading.Lock()
        self._lines = dict[Line, threading.Thread]()
        self._is_closed = False
        self._thread = threading.Thread(target=self._listen, name="solvent-data", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and end what is being sent."""
        with self._guard:
            self._is_closed = True
            lines = dict(self._lines)
        # Closing a socket does not wake a thread that waits for it; shutting it down does.
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for line in lines:
            line.shut()
        # The memory must not be closed under their feet.
        for thread in (self._thread, *lines.values()):
            thread.join(_MAX_CLOSE_SECONDS)

    def abandon(self) -> None:
        """Close what a copy of this process has of it, without a word to those that are connected."""
        self._listening.close()
        for line in self._lines:
            line.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                if self._is_closed or self._listening.fileno() < 0:
                    return
                continue
            with self._guard:
                is_full = self._is_closed or len(self._lines) >= MAX_CONNECTIONS
                if not is_full:
                    with suppress(OSError):
                        line = Line(connection, max_seconds=_MAX_SEND_SECONDS)
                        thread = threading.Thread(target=self._talk, args=(line,), name="solvent-data", daemon=True)
                        self._lines[line] = thread
                        thread.start()
                        continue
            connection.close()

    def _talk(self, line: Line) -> None:
        try:
            line.wait_at_most(_MAX_HANDSHAKE_SECONDS)
            if welcome(line, self._identity):
                while True:
                    line.wait_at_most(2 * MAX_IDLE_SECONDS)
                    wanted = line.hear_want()
                    if isinstance(wanted, Offer):
                        take(line, wanted, self._room, self._is_current)
                    elif isinstance(wanted, Look):
                        self._tell(line, wanted)
                    else:
                        self._serve(line, wanted)
        except (Broken, Nonsense):
            # Whoever fetched knows best whether that was meant; it asks again if not.
            return
        finally:
            with self._guard:
                self._lines.pop(line, None)
            line.close()

    def _tell(self, line: Line, look: Look) -> None:
        try:
            region = self._find(look.resource)
            if region is None:
                raise DataLost("D201", f"`{look.resource}` is not here")
            row, parts = region.labels(look.version, offset=look.offset, length=look.length)
        except SolventError as error:
            line.say_lack(Lack(error.code, error.message))
            return
        line.say_labels(Labels(tuple((one.start, one.end, one.version) for one in row), parts))

    def _serve(self, line: Line, want: Want) -> None:
        piece = want.piece
        try:
            if not 0 < piece <= MAX_PIECE_BYTES:
                raise Misuse("D102", f"{piece} bytes are no piece")
            region = self._find(want.resource)
            if region is None:
                raise DataLost("D201", f"`{want.resource}` is not here")
            # Whoever asks is to go on with it, since a process of this host that was to do so has died.
            sheet = region.mend(want.version, offset=want.offset, length=want.length)
            if want.offset + want.length > sheet.size:
                raise DataLost("D201", f"`{want.resource}` has {sheet.size:,} bytes, and more of it are asked for")
            if version_of(sheet.extents) != want.version:
                region.check(want.version, offset=want.offset, length=want.length)
            view = region.look(offset=want.offset, length=want.length)
        except SolventError as error:
            line.say_lack(Lack(error.code, error.message))
            return
        if not len(view):
            line.say_size(sheet.size)
        is_still = partial(_is_still, region, want, sheet)
        with view:
            for start in range(0, len(view), piece):
                size = None if start else sheet.size
                with view[start : start + piece] as stretch:
                    if not line.send_piece(stretch, size=size, is_still=is_still):
                        return


def _is_still(region: Region, want: Want, before: Sheet) -> bool:
    """Look again whether a stretch is what it was before it was sent."""
    try:
        now = region.sheet
    except SolventError:
        return False
    end = want.offset + want.length
    # Mostly nobody has written anything at all.
    return now is before or (
        end <= now.size and part(now.extents, want.offset, end) == part(before.extents, want.offset, end)
    )


__all__ = ["MAX_CONNECTIONS", "Server"]
