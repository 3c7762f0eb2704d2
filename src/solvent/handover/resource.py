"""A resource, as one process takes part in it: its claims, and its data on this host.

The lock's part runs beside the user's, in whichever thread has time for it (`net.direct`). When it is the turn of a
claim whose data is on another host, fetching begins at once, in a thread of its own, whether anybody waits for it yet
or not; requests of others are dealt with meanwhile.

A process also makes claims by itself (`Joining`), to make one version of many pieces, and to have a lost copy made
again. Whoever is entrusted with the data of one that leaves fetches it as it is, for the lock has not agreed to
anything else. So parts stay parts, and every piece costs whoever looks for it later. Where there are many of them, the
process that has them claims all of it, like any user, changes nothing, and releases it. Mostly the token still rests
there. If not, it is let be: somebody may have a part and want another one, and must not wait for a claim that waits for
the first.

Where several hosts are to have every version and one was lost, whoever has the data does the same: a release sees to it
that there are enough copies. If somebody else has it just then, it tries again: who only reads releases no version.
"""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import DataLost, DataProblem, SolventError, SpaceProblem
from solvent.handover.contents import NOTHING
from solvent.handover.copying import Copying
from solvent.handover.data.card import Fenced
from solvent.handover.filling import Job
from solvent.handover.keeping import Keeping
from solvent.handover.words import LOST, details_from_text
from solvent.protocols.elmp.vocabulary import (
    WHOLE,
    Claim,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Leave,
    Left,
    Queued,
    Recalled,
    Release,
    Request,
    Withdraw,
)
from solvent.protocols.handover.vocabulary import Announce, In, Open, Stays

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.contents import Access, Contents
    from solvent.handover.data import Region
    from solvent.handover.node import SpaceNode
    from solvent.handover.trouble import Setback


class HandleState(StrEnum):
    """How far a handle is, in the words of the paper.

    >>> from solvent.shared import HandleState
    >>> HandleState("locked") is HandleState.LOCKED
    True
    """

    #: It does not take part: not created yet, or destroyed.
    INVALID = "invalid"
    #: Nothing is claimed.
    VALID = "valid"
    #: Claimed; it is not its turn yet.
    REQ = "req"
    #: The same, and somebody waits for it and does nothing else.
    BLOCKED = "blocked"
    #: It is its turn, and the data is on this host.
    GRANT = "grant"
    #: It is its turn, and the data is on its way here.
    FETCH = "fetch"
    #: Acquired: the data is there to be used.
    LOCKED = "locked"
    #: Being released.
    UNLOCK = "unlock"


class Cycle(msgspec.Struct, eq=False):
    """One claim of a handle. The node's threads write here, and the user's read it."""

    #: What the lock knows it by; another one for each, so that what comes late is not taken for another's.
    number: int
    claim: Claim
    #: What the lock said when it was its turn.
    grant: Granted | None = None
    #: What fetches the data, if it is not at hand; where it is when that is done; or why it is not.
    job: Job | None = None
    region: Region | None = None
    problem: SolventError | None = None
    access: Access | None = None
    #: Whether it can be acquired now, or never: then it is over.
    is_settled: bool = False
    is_over: bool = False
    #: Whether it was held to be changed when the process's part ended, and its user has not been told.
    is_lost: bool = False
    #: Who else wants to know.
    on_settled: Callable[[], None] | None = None

    def has_settled(self) -> bool:
        """Tell whether it can be acquired now, or never."""
        return self.is_settled

    def settle(self) -> None:
        """Let whoever waits go on."""
        self.is_settled = True
        told = self.on_settled
        if told is not None:
            told()

    def end(self) -> None:
        """Let it be over, whatever it waited for."""
        self.is_over = True
        if self.job is not None:
            self.job.stop()
        self.settle()


MAX_PIECES = 16
"""So many cost less than a claim."""
_MAX_SECONDS = 0.1


class Joining:
    """Claims of one resource that nobody but this process itself has made."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_over = False

    def end(self) -> None:
        """Write nothing from now on: the process is about to leave the space."""
        with self._guard:
            self._is_over = True

    def join(self, node: SpaceNode, resource: Resource, *, is_keeper: bool = False) -> bool:
        """Make one version of it, if this process takes part; in a thread of its own. Tell whether others had it."""
        is_others = False
        if not resource.stay(is_keeper=is_keeper):
            return is_others
        cycle = resource.cycle(WHOLE)
        with suppress(SolventError):
            try:
                resource.begin(cycle)
                node.host.wait(cycle.has_settled, _MAX_SECONDS)
                with self._guard:
                    is_over = cycle.is_over or self._is_over
                    is_others = cycle.grant is None and not is_over
                    if cycle.grant is not None and cycle.is_settled and not is_over:
                        resource.access(cycle, NOTHING)
                        resource.release(cycle)
            finally:
                with suppress(SolventError):
                    resource.withdraw(cycle)
                resource.stay_no_longer()
        return is_others


_PAUSE_SECONDS = 0.05
_MAX_PAUSE_SECONDS = 1.0
_ELSEWHERE = frozenset(("D201", "D202", "D203", "D204", "D205"))
"""Where a part is to be brought it cannot be taken now."""
_GONE_SECONDS = 1.0
"""How long to ask for what its holder says it has not: a repair may be about to name another."""


class Resource:
    """One resource in one process; handles of it come and go."""

    def __init__(self, node: SpaceNode, name: str) -> None:
        self.name = name
        self.keeping = Keeping(node, name)
        self._copying = Copying(node, name)
        #: Whether the process takes part, and whether it is about to leave.
        self.is_open = False
        self.is_leaving = False
        self.handles = 0
        #: How many claims the process makes by itself, and whether it leaves when they are over.
        self._stays = 0
        self._is_leave_due = False
        #: What may have been lost of it last, while this process took part.
        self.setback: Setback | None = None
        self._node = node
        self._numbers = itertools.count()
        self._cycles = dict[int, Cycle]()
        self._guard = threading.Lock()
        #: What is fetched for somebody who wants to leave.
        self._errand: Job | None = None
        self._joining = Joining()

    # -------------------------------------------------------------------------------------------------- the user

    def take_part(self) -> None:
        """Begin to take part; `is_open` tells when it does."""
        with self._guard:
            self.handles += 1
            is_first = self.handles == 1
        if is_first:
            try:
                self._node.request(Open(self.name))
            except SolventError:
                self.handles -= 1
                raise

    def stay(self, *, is_keeper: bool) -> bool:
        """Leave not before `stay_no_longer`, if the process takes part; tell whether it does.

        Who only keeps the data takes part without any handles.
        """
        with self._guard:
            is_part = self.handles > 0 or (is_keeper and not self.is_leaving)
            self._stays += is_part
            return is_part

    def stay_no_longer(self) -> None:
        """Leave, if that was put off."""
        with self._guard:
            self._stays -= 1
            is_due = self._is_leave_due and not self._stays
            self._is_leave_due &= not is_due
        if is_due:
            self._node.request(In(self.name, Leave()))

    def take_part_no_longer(self) -> None:
        """Let one handle be over; with the last of them the process leaves.

        That gives up all claims. What one of the process's own has written would be a version that nobody knows of: so
        it is waited for.
        """
        with self._guard:
            self.handles -= 1
            if self.handles:
                return
            self.is_open = False
            self.is_leaving = True
            self._is_leave_due = self._stays > 0
            is_now = not self._is_leave_due
        if is_now:
            self._node.request(In(self.name, Leave()))

    def cycle(self, claim: Claim) -> Cycle:
        """Give what `begin` begins."""
        return Cycle(next(self._numbers), claim)

    def claims(self) -> list[dict[str, Any]]:
        """Tell lookers-on what this process has of it, and waits for."""
        found = []
        for cycle in list(self._cycles.values()):
            if not cycle.is_over:
                state = "waits" if cycle.grant is None else "has" if cycle.access is not None else "comes"
                claim = cycle.claim
                mode = "read" if claim.is_shared else "write"
                found.append(
                    {
                        "claim": cycle.number, "state": state, "mode": mode, "offset": claim.first,
                        "length": claim.length,
                    }
                )  # fmt: skip
        return found

    def begin(self, cycle: Cycle) -> None:
        """Claim it."""
        self._cycles[cycle.number] = cycle
        self._node.request(In(self.name, Request(cycle.number, claim=cycle.claim)))

    def withdraw(self, cycle: Cycle) -> None:
        """Claim it no longer, however far that has come; what was changed counts for nothing, if that is possible."""
        access = cycle.access
        if access is not None and not access.can_be_abandoned:
            self.release(cycle)
        elif self._cycles.pop(cycle.number, None) is not None and not cycle.is_over:
            cycle.end()
            cycle.access = None
            try:
                if access is not None:
                    access.abandon()
            finally:
                self._node.request(In(self.name, Withdraw(cycle.number)))

    def end_all(self, *, is_released: bool) -> None:
        """Claim nothing any more: the process is about to leave the space."""
        self._joining.end()
        for cycle in list(self._cycles.values()):
            if is_released:
                self.release(cycle)
            self.withdraw(cycle)

    def release(self, cycle: Cycle) -> SpaceProblem | None:
        """Let the next one have it, with what was changed; say so if not as many hosts have that as are to."""
        access, problem = cycle.access, None
        if access is None or self._cycles.pop(cycle.number, None) is None:
            return None
        cycle.is_over = True
        cycle.access = None
        wanted: Withdraw | Release = Withdraw(cycle.number)
        try:
            try:
                problem = self._commit(cycle, access)
            finally:
                if access.writing is None or access.writing.is_over:
                    wanted = Release(cycle.number, self.keeping.data_of(access) if access.writing is not None else None)
                else:
                    # There was no room for it, say. The others go on with the version before.
                    access.abandon()
        finally:
            if type(wanted) is Release and access.writing is not None:
                self._node.changed_epoch = self._node.epoch
                self._announce()
            self._node.request(In(self.name, wanted), is_last=True)
        return problem

    def _commit(self, cycle: Cycle, access: Access) -> SpaceProblem | None:
        """Make a version where the data is; say so if not as many hosts have it as are to.

        If others have gone on to another epoch, this process is about to hear of it; the data may be elsewhere then.
        """
        node, end = self._node, time.monotonic() + self._node.max_seconds
        while True:
            heard = node.heard()
            try:
                problem = self._copying.made(access, lambda: self._data_of(cycle))
            except DataProblem as error:
                node.check()
                if not isinstance(error, Fenced) and not (access.is_part and error.code in _ELSEWHERE):
                    raise
                left = end - time.monotonic()
                # A host that does not answer may be dead, and then another one is named soon.
                seconds = left if isinstance(error, Fenced) and not access.is_part else min(left, _PAUSE_SECONDS)
                if left <= 0 or (not node.host.wait(lambda: node.heard() != heard, seconds) and seconds == left):  # noqa: B023
                    raise node.trouble.silence() or error from error
            else:
                if not access.is_part or node.heard() == heard or node.fault is not None:
                    return problem

    def _data_of(self, cycle: Cycle) -> Data:
        """Return where the data is now: a repair may have named another process since it was granted."""
        state = self._node.host.state.resources.get(self.name)
        assert cycle.grant is not None
        number, known = cycle.grant.use, cycle.grant.data
        found = [use.data for use in state.uses if use.number == number] if state is not None else []
        data = found[0] if found and found[0] is not None else known
        assert data is not None
        return data

    def _announce(self) -> None:
        """Before the first version is released, tell all others that there is one: this host may be lost with it."""
        if self._node.fault is None and self.name not in self._node.host.state.released:
            self._node.request(Announce(self.name))

    def access(self, cycle: Cycle, contents: Contents, *, is_anew: bool = False) -> None:
        """Give the data of a claim whose turn it is; raise why that is not possible."""
        grant, problem = cycle.grant, cycle.problem
        if problem is not None and not (is_anew and isinstance(problem, DataProblem)):
            raise self.keeping.lost(problem) if isinstance(problem, DataLost) else problem
        if grant is None:
            raise SpaceProblem(
                "S204", f"the claim of `{self.name}` is no more: the handle was destroyed, or the space left"
            )
        try:
            cycle.access = self.keeping.access(grant, cycle.claim, contents, cycle.region, is_anew=is_anew)
        except DataLost as gone:
            raise self.keeping.lost(gone) from gone

    def needs_making(self, cycle: Cycle, contents: Contents) -> bool:
        """Tell whether its data has to be made first, by who has all of it to itself."""
        grant = cycle.grant
        return grant is not None and grant.data is None and cycle.claim != WHOLE and contents.can_make

    # ------------------------------------------------------------------------------------------------- the lock

    def on_opened(self) -> None:
        """Hear that the process takes part."""
        self.is_open = self.handles > 0

    def told(self, outcome: Any) -> None:
        """Hear what the lock says; in whichever thread works."""
        if type(outcome) is Granted:
            self._on_granted(outcome)
            return
        match outcome:
            case Queued():
                pass
            case Dropped(handle):
                cycle = self._cycles.pop(handle, None)
                if cycle is not None:
                    cycle.end()
            case Entrusted():
                self._on_entrusted(outcome)
            case Recalled():
                # Before the token is sent: nobody else gets the data while it is still being fetched.
                if self._errand is not None:
                    self._errand.stop()
            case Left() | Stays():
                if not self.handles:
                    # Whoever needs its memory again, as others do of one that stays, opens it again.
                    self._node.store.let_go(self.name)
                self.is_leaving = False

    def _on_granted(self, grant: Granted) -> None:
        cycle = self._cycles.get(grant.handle)
        if cycle is not None and cycle.access is not None:
            # A repair grants again what is in use, and whose data is here.
            return
        if cycle is None:
            # Given up meanwhile.
            return
        cycle.grant = grant
        if cycle.job is not None:
            cycle.job.stop()
            cycle.job = cycle.region = cycle.problem = None
            cycle.is_settled = False
        if grant.data is None or self._is_at_hand(grant.data):
            cycle.settle()
        else:
            cycle.job = job = Job(self._node.max_seconds)
            _start(partial(self._fetch_for, cycle, grant, job), f"solvent-fetch-{self.name}")

    def _is_at_hand(self, data: Data) -> bool:
        return details_from_text(data.details) is None or self.keeping.filler.is_at_hand(data.holder)

    def _fetch_for(self, cycle: Cycle, grant: Granted, job: Job) -> None:
        """Fetch what a claim needs; in a thread of its own."""
        assert grant.data is not None
        details = details_from_text(grant.data.details)
        assert details is not None
        region = problem = None
        try:
            fill = partial(self.keeping.filler.fill, grant.data, details, cycle.claim, job)
            region = self._trying(job, cycle.claim, fill)
        except SolventError as error:
            problem = error
        if job.stopped.is_set():
            return
        cycle.region, cycle.problem = region, problem
        cycle.settle()
        if region is not None and cycle.claim.is_plain:
            text = self.keeping.details(region, details.version)
            self._node.request_quietly(In(self.name, Fetched(grant.data.version, text, grant.use)))
        self._node.wake()

    def _trying(
        self, job: Job, claim: Claim, fill: Callable[[], Region], *, gone_seconds: float | None = None
    ) -> Region:
        """Fetch again and again for a while: who had the data may be dead, and another one be found that has it."""
        now, pause = time.monotonic(), _PAUSE_SECONDS
        end = now + self._node.max_seconds
        gone_end = end if gone_seconds is None else now + gone_seconds
        while True:
            try:
                self.keeping.leave_behind(claim)
                return fill()
            except DataProblem as problem:
                last = gone_end if isinstance(problem, DataLost) else end
                if time.monotonic() > last or job.stopped.wait(pause):
                    raise
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)

    # ------------------------------------------------------------------------------------------------- the others

    def _on_entrusted(self, told: Entrusted) -> None:
        """Get the data from somebody who wants to leave."""
        self._errand = job = Job(self._node.max_seconds)
        _start(partial(self._fetch_all, told, job), f"solvent-keep-{self.name}")

    def _fetch_all(self, told: Entrusted, job: Job) -> None:
        """Get the version and all parts that lie over it to this host, as they are: nothing is changed there."""
        data = told.data
        details, text, pieces = details_from_text(data.details), data.details, 0
        if details is not None:
            fill = partial(self.keeping.filler.fill, data, details, WHOLE, job)
            try:
                region = self._trying(job, WHOLE, fill, gone_seconds=_GONE_SECONDS)
                text, pieces = self.keeping.details(region, details.version), len(region.sheet.extents)
            except DataLost:
                if self.keeping.has_newer(details.version):
                    return
                # Its writer was killed and nothing was kept: who wants to leave need not stay for what nobody can have.
                text = LOST
            except SolventError:
                # Whoever wants to leave keeps it, and somebody is told again if it dies.
                return
        self._node.request_quietly(In(self.name, Fetched(data.version, text, told.use)))
        if pieces > MAX_PIECES:
            self._joining.join(self._node, self)

    def copy_again(self) -> None:
        """Have other hosts take the data, which is here, since some are lost that had it."""
        _start(self._copy_again, f"solvent-copy-{self.name}")

    def _copy_again(self) -> None:
        pause = _PAUSE_SECONDS
        with suppress(SolventError):
            region = self._node.store.region(self.name)
            if region is None or region.sheet.copies == 1:
                return
            while self._joining.join(self._node, self, is_keeper=True):
                # Perhaps somebody only reads it, and no release will see to it.
                time.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)

    def fail(self, fault: SolventError) -> list[tuple[Cycle, Access]]:
        """Let everything be over, since the process takes no part in the space any more; give what was held.

        What was kept of it is to be put back, which may take long.
        """
        held = []
        for cycle in list(self._cycles.values()):
            cycle.problem = fault
            access, cycle.access = cycle.access, None
            cycle.end()
            if access is not None:
                cycle.is_lost = access.writing is not None
                held.append((cycle, access))
        self._cycles.clear()
        return held


def _start(what: Callable[[], None], name: str) -> None:
    threading.Thread(target=what, name=name, daemon=True).start()


__all__ = ["MAX_PIECES", "Cycle", "HandleState", "Joining", "Resource"]
