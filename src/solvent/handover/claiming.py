"""What a handle does, whether its user waits in a coroutine or in a thread.

Calls out of order do what the paper says. A second request drops the first, and with it its place in the queue. A
release of what is not held is ignored. What is acquired without a request is requested. After a handle was destroyed
everything is ignored until it is created anew; only there is nothing to be had then, so to acquire is an error.

A handle has one user at a time, a thread or a task: whoever waits for the resource, or has acquired it. What a handle
knows of its claim and what the lock knows change together, in a `Section`; so whatever is raised, and wherever, no
claim is left that the handle does not know of.

Nothing comes between the steps of a section: no other thread of the same handle, and no Ctrl-C, which is only noted, as
it is in a step of the lock (`net.direct.shield`), and raised when handle and lock agree again.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from solvent.errors import Misuse, SolventError
from solvent.handover.contents import claim_from, seconds_from
from solvent.handover.resource import Cycle, HandleState
from solvent.handover.threads import in_background
from solvent.net.direct.shield import SHIELD
from solvent.protocols.elmp.vocabulary import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from solvent.errors import SpaceProblem
    from solvent.handover.contents import Access, Contents
    from solvent.handover.node import SpaceNode
    from solvent.protocols.elmp.vocabulary import Claim


class Section:
    """Entered with `with`, also by who is in it already."""

    __slots__ = ("_acquire", "_release")

    def __init__(self) -> None:
        lock = threading.RLock()
        self._acquire, self._release = lock.acquire, lock.release

    def __enter__(self) -> None:
        if get_ident() != SHIELD.main:
            self._acquire()
            return
        SHIELD.depth += 1
        try:
            self._acquire()
        except BaseException:
            # A signal's handler that is not Python's own has raised something.
            SHIELD.lower()
            raise

    def __exit__(self, kind: object, fault: object, trace: object) -> None:
        self._release()
        if get_ident() == SHIELD.main:
            # As `lower` does it: a call less in every claim.
            SHIELD.depth -= 1
            if SHIELD.is_noted:
                SHIELD.depth += 1
                SHIELD.lower()


Mode: TypeAlias = Literal["write", "read"]
"""How a resource is claimed: to write, which excludes all others, or to read beside others that read.

>>> from typing import get_args
>>> from solvent.shared import Mode
>>> get_args(Mode)
('write', 'read')
"""
_USE_BITS = 32


class Claiming:
    """A handle of a resource."""

    def __init__(
        self,
        node: SpaceNode,
        name: str,
        contents: Contents,
        *,
        keep_last: bool,
        claim: Claim,
        timeout: float | None = None,
    ) -> None:
        self._node = node
        self._resource = node.resource(name)
        self._resource.keeping.expect(contents, keep_last=keep_last)
        self._contents = contents
        self._keep_last = keep_last
        #: What is claimed, and how long it waits, where nothing else is said.
        self._usual = claim
        self._timeout = seconds_from(timeout)
        self._cycle: Cycle | None = None
        self._is_valid = False
        self._is_waiting = self._is_releasing = False
        #: Who waits for it, or has acquired it.
        self._user: object = None
        self._section = Section()
        self._trouble: SpaceProblem | None = None
        #: The epoch since when nothing is known here that may have been lost.
        self._epoch = node.epoch

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
    def trouble(self) -> SpaceProblem | None:
        """What is wrong although nothing is raised; `None` most of the time.

        While it waits: too few processes answer (S207). After it was acquired, once: the data may be an older version
        than was released (S208). After a release: fewer hosts than wanted have what was released (S209).
        """
        cycle = self._cycle
        is_waiting = self._is_waiting if cycle is None else not cycle.is_settled
        return self._node.trouble.silence() if is_waiting else self._trouble

    @property
    def view(self) -> memoryview:
        """The bytes that are held; read-only if they are held to be read. Raises `Misuse` (S104) if nothing is held."""
        return self._held().view

    @property
    def array(self) -> Any:
        """The bytes that are held, as a NumPy array that is mapped and not copied; read-only after the release."""
        cycle = self._cycle
        return self._held().array(cycle.claim.first if cycle is not None else 0)

    @property
    def path(self) -> Path | None:
        """The file of the bytes that are held, until the release; `None` for a lock without data."""
        region = self._held().region
        return None if region is None else region.path

    @property
    def fence(self) -> int:
        """A number that grows each time the resource is held for writing, for whatever else the lock protects."""
        cycle = self._cycle
        self._held()
        assert cycle is not None
        assert cycle.grant is not None
        # Under one turn only one process has it, which counts its claims.
        return cycle.grant.turn << _USE_BITS | cycle.grant.use

    def request(self, mode: Mode | None = None, *, offset: int | None = None, length: int | None = None) -> None:
        """Claim the resource and return at once; `acquire` waits for it."""
        self._check()
        claim = self._claim(mode, offset, length) or self._usual
        with self._section:
            if self._is_valid:
                self._check_user(self._me())
                self._request(claim)

    def test(self) -> bool:
        """Return whether `acquire` would take no time: it is this handle's turn, and the data is on this host."""
        self._check()
        cycle = self._cycle
        return self._is_valid and cycle is not None and not cycle.is_over and cycle.is_settled

    def release(self) -> None:
        """Let the next handle have the resource, with what was changed; ignored if nothing is held."""
        if self._node.fault is not None:
            self._check()
        with self._section:
            self._release()

    def withdraw(self) -> None:
        """Give up the claim, however far it has come; what was changed is discarded.

        Without `keep_last` there is no version to go back to: what is held is released as it is.
        """
        with self._section:
            self._withdraw()

    def resize(self, size: int) -> memoryview:
        """Change the number of bytes and return a new view; only while everything is held for writing."""
        return self._held().resize(size)

    def destroy(self) -> None:
        """Take part no longer: claims are dropped, what is held is released. `create` makes the handle valid again.

        Ignored after the process has left, and in a copy of the process (`fork`).
        """
        self._end(self._release)

    # -------------------------------------------------------------------------------------------------- in steps

    def _end(self, before: Callable[[], None]) -> None:
        """Take part no longer, and do something before that."""
        if not self._node.is_here:
            self._is_valid = False
            return
        with self._section:
            if not self._is_valid:
                return
            self._is_valid = False
            try:
                before()
                self._withdraw()
            finally:
                # What was raised before is what counts; and who takes no part any more need not say so.
                with suppress(SolventError):
                    self._resource.take_part_no_longer()

    def _end_after(self, fault: BaseException | None) -> None:
        """Leave the block; what is held is released, unless something was raised: then it may be half done."""
        if fault is None:
            self.destroy()
            return
        # What was raised is what counts.
        with suppress(SolventError):
            self._end(self._withdraw)

    def _create(self, seconds: float | None, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Take part, and wait until it is so."""
        end = None if seconds is None else time.monotonic() + seconds
        node, resource = self._node, self._resource
        node.check()
        with self._section:
            if self._is_valid:
                self._withdraw()
                return
        self._wait(lambda: not resource.is_leaving, end)
        is_part = False
        try:
            with self._section:
                resource.take_part()
                is_part = True
            self._wait(lambda: resource.is_open, end)
            node.check()
            with self._section:
                if is_wanted() and not self._is_valid:
                    self._is_valid, is_part = True, False
        finally:
            if is_part:
                in_background(self._take_part_no_longer, f"solvent-leave-{self.name}")

    def _wait(self, is_so: Callable[[], bool], end: float | None) -> None:
        """Wait until something is so, or cannot be any more."""
        node = self._node
        left = None if end is None else end - time.monotonic()
        self._is_waiting = True
        try:
            if not node.host.wait(lambda: is_so() or node.fault is not None, left):
                raise node.trouble.late(self.name)
        finally:
            self._is_waiting = False

    def _take_part_no_longer(self) -> None:
        """Undo that the process takes part, as soon as it does."""
        node, resource = self._node, self._resource
        with suppress(SolventError):
            node.host.wait(lambda: resource.is_open or node.fault is not None)
            resource.take_part_no_longer()

    def _acquiring(self, me: object, claim: Claim | None, *, is_anew: bool) -> Generator[Cycle, None, None]:
        """Acquire: whoever goes on waits until each cycle that is given is settled."""
        resource, contents = self._resource, self._contents
        if self._node.fault is not None:
            self._check()
        with self._section:
            cycle = self._begun(me, claim)
            if cycle.access is not None:
                return
            if cycle.is_settled and not resource.needs_making(cycle, contents):
                self._access(cycle, is_anew=is_anew)
                return
        self._is_waiting = True
        try:
            if not cycle.is_settled:
                yield cycle
            if resource.needs_making(cycle, contents):
                cycle = yield from self._making(me, cycle)
            with self._section:
                self._access(cycle, is_anew=is_anew)
        finally:
            self._is_waiting = False

    def _begun(self, me: object, claim: Claim | None) -> Cycle:
        """Become the user, and claim it unless that is done."""
        if not self._is_valid:
            why = f"the handle of `{self.name}` is not valid: not created yet, or destroyed"
            raise Misuse("S103", why, hint="enter its `with` block, or call `create`")
        self._check_user(me)
        cycle = self._cycle
        if cycle is None or cycle.is_over or (claim is not None and cycle.claim != claim):
            cycle = self._request(claim or self._usual)
        self._user = me
        return cycle

    def _access(self, cycle: Cycle, *, is_anew: bool = False) -> None:
        if cycle.is_over and cycle.problem is None:
            # Somebody else has dropped the claim.
            cycle.grant = None
        resource, grant = self._resource, cycle.grant
        if grant is not None and grant.data is None:
            # It is made here, as this handle says, whatever others of this process have said.
            resource.keeping.expect(self._contents, keep_last=self._keep_last)
        resource.access(cycle, self._contents, is_anew=is_anew)
        setback, access = resource.setback, cycle.access
        self._trouble = None
        if setback is not None and setback.epoch > self._epoch and access is not None:
            self._epoch = setback.epoch
            self._trouble = setback.problem(self.name, access.copies)

    def _making(self, me: object, cycle: Cycle) -> Generator[Cycle, None, Cycle]:
        """Make the data first, under a claim of everything; then claim again what is wanted."""
        wanted = cycle.claim
        maker = self._instead_of(cycle, me, WHOLE)
        if not maker.is_settled:
            yield maker
        with self._section:
            self._access(maker)
            self._release()
            self._user = me
            cycle = self._instead_of(None, me, wanted)
        if not cycle.is_settled:
            yield cycle
        return cycle

    def _instead_of(self, cycle: Cycle | None, me: object, claim: Claim) -> Cycle:
        """Claim something else, unless somebody has dropped the claim meanwhile."""
        with self._section:
            if self._cycle is not cycle or self._user != me:
                assert cycle is not None
                cycle.end()
                return cycle
            made = self._request(claim)
            self._user = me
            return made

    def _give_up(self, me: object) -> None:
        """Claim nothing any more, after something was raised in `acquire`, if this is still the user's claim."""
        with self._section, suppress(SolventError):
            if self._user == me:
                self._withdraw()

    def _request(self, claim: Claim) -> Cycle:
        """Claim it, and give up what was claimed before; what is held is released."""
        if self._cycle is not None:
            self._release()
            self._withdraw()
        # Known here before the lock knows it: what the lock does not know can be withdrawn, too.
        self._cycle = cycle = self._resource.cycle(claim)
        self._resource.begin(cycle)
        return cycle

    def _release(self) -> None:
        cycle = self._cycle
        if cycle is not None and cycle.is_lost:
            self._check()
        if cycle is None or cycle.access is None:
            return
        self._is_releasing = True
        try:
            self._trouble = self._resource.release(cycle)
        finally:
            self._cycle = self._user = None
            self._is_releasing = False

    def _withdraw(self) -> None:
        cycle = self._cycle
        if cycle is not None:
            try:
                self._resource.withdraw(cycle)
            finally:
                self._cycle = self._user = None

    # ---------------------------------------------------------------------------------------------------- the user

    def _me(self) -> object:
        """Who calls."""
        raise NotImplementedError

    def _is_there(self, user: Any) -> bool:
        """Whether somebody who called is still there."""
        raise NotImplementedError

    def _check_user(self, me: object) -> None:
        """Make sure that nobody else waits for it or has it."""
        user = self._user
        if user is None or user == me or not self._is_there(user):
            return
        hint = "a handle belongs to one thread, or task, at a time; give each its own: `space.handle(...)`"
        does = "holds it" if self._cycle is not None and self._cycle.access is not None else "waits for it"
        raise Misuse("S106", f"the handle of `{self.name}` is in use: another thread or task {does}", hint=hint)

    def _claim(self, mode: Mode | None, offset: int | None, length: int | None) -> Claim | None:
        if mode is None and offset is None and length is None:
            return None
        usual = self._usual
        first = usual.first if offset is None else offset
        length = usual.length if length is None else length
        return claim_from(mode or ("read" if usual.is_shared else "write"), first, length)

    def _seconds(self, timeout: float | None) -> float | None:
        return self._timeout if timeout is None else seconds_from(timeout)

    def _check(self) -> None:
        """Raise why nothing can be done any more; then the user knows it."""
        if self._cycle is not None:
            self._cycle.is_lost = False
        self._node.check()

    def _held(self) -> Access:
        cycle = self._cycle
        if self._node.fault is not None:
            self._check()
        if cycle is None or cycle.access is None:
            raise Misuse("S104", f"`{self.name}` is not held", hint="acquire it first; a release ends it")
        return cycle.access


__all__ = ["Claiming", "Mode", "Section"]
