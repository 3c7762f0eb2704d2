"""What a handle does, whether its user waits in a coroutine or in a thread.

Calls out of order do what the paper says. A second request drops the first, and with it its place in the queue. A
release of what is not held is ignored. What is acquired without a request is requested. After a handle was destroyed
everything is ignored until it is created anew; only there is nothing to be had then, so to acquire is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from solvent.errors import Misuse, SolventError
from solvent.protocols.elmp.vocabulary import WHOLE, Claim
from solvent.running.spaces.cycle import Cycle, HandleState

if TYPE_CHECKING:
    from collections.abc import Generator

    from solvent.running.spaces.access import Access
    from solvent.running.spaces.contents import Contents
    from solvent.running.spaces.node import SpaceNode

Mode: TypeAlias = Literal["write", "read"]


class Claiming:
    """A handle of a resource."""

    def __init__(self, node: SpaceNode, name: str, contents: Contents, *, keep_last: bool, claim: Claim) -> None:
        self._node = node
        self._resource = node.resource(name)
        self._resource.keeping.expect(contents, keep_last=keep_last)
        self._contents = contents
        #: What is claimed where nothing else is said.
        self._usual = claim
        self._cycle: Cycle | None = None
        self._is_valid = False
        self._is_waiting = self._is_releasing = False

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self._resource.name

    @property
    def state(self) -> HandleState:
        """How far the handle is, in the words of the paper."""
        cycle = self._cycle
        if not self._is_valid:
            return HandleState.INVALID
        if self._is_releasing:
            return HandleState.UNLOCK
        if cycle is None or cycle.is_over:
            return HandleState.VALID
        if cycle.access is not None:
            return HandleState.LOCKED
        if cycle.grant is not None:
            return HandleState.GRANT if cycle.is_settled else HandleState.FETCH
        return HandleState.BLOCKED if self._is_waiting else HandleState.REQ

    @property
    def view(self) -> memoryview:
        """The bytes that are held: to be changed, or read-only where they are held to be read."""
        return self._held().view

    @property
    def array(self) -> Any:
        """The bytes that are held as a NumPy array, mapped and not copied; read-only from the release on."""
        cycle = self._cycle
        return self._held().array(cycle.claim.first if cycle is not None else 0)

    @property
    def fence(self) -> int:
        """A number that is greater each time the resource is had to be written, for what else is to be protected."""
        cycle = self._cycle
        self._held()
        assert cycle is not None
        assert cycle.grant is not None
        return cycle.grant.turn

    def request(self, mode: Mode | None = None, *, offset: int | None = None, length: int | None = None) -> None:
        """Claim the resource, and do something else until it is there."""
        self._node.check()
        if self._is_valid:
            self._request(self._claim(mode, offset, length) or self._usual)

    def test(self) -> bool:
        """Tell whether to acquire it would take no time: it is this handle's turn, and the data is on this host."""
        self._node.check()
        cycle = self._cycle
        return self._is_valid and cycle is not None and not cycle.is_over and cycle.is_settled

    def release(self) -> None:
        """Let the next one have it, with what was changed; ignored where nothing is held."""
        self._node.check()
        cycle = self._cycle
        if cycle is None or cycle.access is None:
            return
        self._is_releasing = True
        try:
            self._resource.release(cycle)
        finally:
            self._cycle = None
            self._is_releasing = False

    def withdraw(self) -> None:
        """Claim it no longer, however far that has come; what was changed counts for nothing.

        Without `keep_last` there is nothing to go back to: what is held is released as it is.
        """
        cycle, self._cycle = self._cycle, None
        if cycle is not None:
            self._resource.withdraw(cycle)

    def resize(self, size: int) -> memoryview:
        """Change the number of bytes, and give a new view; only who holds everything, to change it, can do that."""
        return self._held().resize(size)

    def destroy(self) -> None:
        """Take part no longer: claims are dropped, what is held is released. The handle can be created anew."""
        if not self._is_valid:
            return
        self._is_valid = False
        if self._node.fault is None:
            try:
                self.release()
                self.withdraw()
            finally:
                self._resource.take_part_no_longer()

    # -------------------------------------------------------------------------------------------------- in steps

    def _create(self) -> None:
        """Take part, and wait until it is so."""
        self._node.check()
        if self._is_valid:
            self.withdraw()
            return
        resource, node = self._resource, self._node
        node.host.wait(lambda: not resource.is_leaving or node.fault is not None)
        resource.take_part()
        node.host.wait(lambda: resource.is_open or node.fault is not None)
        node.check()
        self._is_valid = True

    def _acquiring(self, claim: Claim | None, *, is_anew: bool) -> Generator[Cycle, None, None]:
        """Acquire: whoever goes on waits until each cycle that is given is settled."""
        self._node.check()
        if not self._is_valid:
            hint = "enter its `with` block, or call `create`"
            raise Misuse("S103", f"the handle of `{self.name}` is not valid: not created yet, or destroyed", hint=hint)
        cycle = self._cycle
        if cycle is None or cycle.is_over or (claim is not None and cycle.claim != claim):
            cycle = self._request(claim or self._usual)
        if cycle.access is not None:
            return
        self._is_waiting = True
        try:
            if not cycle.is_settled:
                yield cycle
            if self._resource.needs_making(cycle, self._contents):
                cycle = yield from self._making(cycle)
            self._resource.access(cycle, self._contents, is_anew=is_anew)
        except SolventError:
            self.withdraw()
            raise
        finally:
            self._is_waiting = False

    def _making(self, cycle: Cycle) -> Generator[Cycle, None, Cycle]:
        """Make the data first, under a claim of everything; then claim again what is wanted."""
        wanted = cycle.claim
        maker = self._request(WHOLE)
        if not maker.is_settled:
            yield maker
        self._resource.access(maker, self._contents)
        self.release()
        cycle = self._request(wanted)
        if not cycle.is_settled:
            yield cycle
        return cycle

    def _request(self, claim: Claim) -> Cycle:
        """Claim it, and give up what was claimed before; what is held is released."""
        self.release()
        self.withdraw()
        self._cycle = cycle = self._resource.begin(claim)
        return cycle

    def _claim(self, mode: Mode | None, offset: int | None, length: int | None) -> Claim | None:
        if mode is None and offset is None and length is None:
            return None
        return claim_from(mode or ("read" if self._usual.is_shared else "write"), offset or 0, length)

    def _held(self) -> Access:
        cycle = self._cycle
        self._node.check()
        if cycle is None or cycle.access is None:
            raise Misuse("S104", f"`{self.name}` is not held", hint="acquire it first; a release ends it")
        return cycle.access


def claim_from(mode: Any, offset: Any, length: Any) -> Claim:
    """Read and check what is to be claimed."""
    if mode not in ("write", "read"):
        raise Misuse("S102", f"{mode!r} is no way to claim a resource", hint='it is "write" or "read"')
    for number in (offset, length):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
            raise Misuse("S102", f"{number!r} is no number of bytes")
    if length == 0:
        raise Misuse("S102", "a part of no bytes cannot be claimed")
    return Claim(is_shared=mode == "read", first=offset, length=length)


__all__ = ["Claiming", "Mode", "claim_from"]
