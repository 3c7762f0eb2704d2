"""Calls that agents make for shards of other agents, of one run: what each asks, answers and calls off.

The shard has its call, here or elsewhere: it notes that it is made, by whom, and what comes of it, and it tries again.
Only the attempt is made by another agent, within the time-out and heartbeat of its service. What the two say to each
other is in one log of the run, `messages/calls/RUN`:

    RoomOffered     an agent has threads that nothing waits for; no slots: it leaves
    AttemptAsked    make an attempt; after the journal of the shard has it, so nothing is made that is not stored
    AttemptEnded    what came of it, written once; whoever has the shard by then finds it there
    AttemptUnmade   it was not made, or given up: there is no room, or the agent leaves
    AttemptOff      it is not wanted; whoever finds an agent dead says this before it asks another one
    ShardMoved      an agent has a shard: what others ask and call off for it from now on does not count

An attempt is known by its shard, its call and its number (how many attempts of the call the journal has), so what is
said twice counts once. When the agent that has the shard dies, the attempt goes on; who takes the shard over waits for
it. When the agent that makes it dies, what it has answered is read, and the rest is lost: it is made again, and counts
towards `max_lost`.

An attempt that is given up before its service begins never begins (`Guest`). So one attempt is made twice only if it
had begun when its agent was taken for dead, as with any call; the second one is marked (`solvent.call().repeated`).

A further version of a run has a log of its own. Calls that are being made when a run is updated, and that the new
version has as well, continue where they are: whoever updates it asks for them there (`goes_on`), by the names by which
their services know them (`CallIdentity.key`), which stay the same. All others are cancelled.

A call inside a sub-workflow is asked for with the services that lead to it and a digest of the sub-workflow: who makes
it must have the same. Calls inside one that changes resources of its own stay where that is.

A service with a limit of its own is called by the agent that has its lease, `runs/RUN/limit/DIGEST`, for all shards,
inside sub-workflows and outside.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from solvent.errors import RecordProblem, SolventError, StoreError
from solvent.runs.call_queue import CallQueue, Place, path_of
from solvent.runs.calls import DIGEST_BYTES, NO_MEMORY, Again, keepable, pickled_parts
from solvent.runs.kept import Kept, keep
from solvent.runs.kinds import LAUNCHERS, workflow_of
from solvent.runs.nested import Subworkflow
from solvent.runs.registry import calls_of, key_of
from solvent.services import Failure
from solvent.services.admission import is_limited, limit_of
from solvent.services.current_call import CallIdentity  # noqa: TC001 - msgspec looks at the types
from solvent.services.failure import Kind, Told
from solvent.store import Append
from solvent.store.leases import Lease, heartbeat_from_value
from solvent.values import codec
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from solvent.runs.calls import Answer, OpenCall
    from solvent.runs.events import Why
    from solvent.runs.execution import Execution
    from solvent.services import Caller, Handle
    from solvent.services.admission import Limit
    from solvent.services.call import Attempt
    from solvent.store import Record, Store
    from solvent.store.interface import Entry
    from solvent.store.leases import Heartbeats
    from solvent.workflows.model import Service

MAX_READ = 1000
OFFER_SECONDS = 0.05
"""An agent that has had nothing to do in a run for so long offers to make calls of others: most small runs are over."""


class Said(msgspec.Struct, frozen=True, tag=True, array_like=True, omit_defaults=True, gc=False):
    """What agents say to each other about calls."""


class RoomOffered(Said, frozen=True, gc=False):
    """An agent has threads that nothing waits for; without `slots` it leaves."""

    agent: str
    token: str
    slots: int
    #: The services of the run that it does not have.
    lacks: tuple[str, ...] = ()


class AttemptAsked(Said, frozen=True, gc=False):
    """The process `token` of an agent is asked to make an attempt of a call."""

    agent: str
    token: str
    shard: int
    call: str
    number: int
    service: str
    identity: CallIdentity
    #: The positional and the keyword arguments, as `values.codec` encodes them.
    arguments: Kept = Kept()
    #: In which the agent that asks has the shard.
    epoch: int = 0
    #: The services that lead to it, from outside to inside, if it is inside a sub-workflow, and a digest of that.
    within: tuple[str, ...] = ()
    definition: str = ""
    #: Whether it was begun there in an earlier version of the run: it is not made, but what comes of it is told.
    goes_on: bool = False


class AttemptEnded(Said, frozen=True, gc=False):
    """An attempt has ended: with a value, or with a failure of this kind."""

    shard: int
    call: str
    number: int
    value: Kept = Kept()
    kind: Kind | None = None
    text: str = ""
    output: str = ""


class AttemptUnmade(Said, frozen=True, gc=False):
    """An attempt was not made, or was ended by the agent, which leaves (`is_released`).

    It had no room (`is_full`), or does not have the service (`is_unknown`).
    """

    shard: int
    call: str
    number: int
    is_full: bool = False
    is_released: bool = False
    is_unknown: bool = False


class AttemptOff(Said, frozen=True, gc=False):
    """An attempt is not wanted any more."""

    token: str
    shard: int
    call: str
    number: int
    epoch: int = 0


class ShardMoved(Said, frozen=True, gc=False):
    """An agent has a shard in an epoch: what was said for it in earlier ones counts only if it stands before this."""

    shard: int
    epoch: int


_Id: TypeAlias = tuple[int, str, int]
"""The shard, the call, and how many attempts of it its journal has with this one."""
AnySaid: TypeAlias = RoomOffered | AttemptAsked | AttemptEnded | AttemptUnmade | AttemptOff | ShardMoved
History: TypeAlias = "tuple[dict[_Id, str], dict[_Id, AttemptEnded | AttemptUnmade]]"
_ENCODE = encoder()
_DECODE = msgspec.msgpack.Decoder(list[AnySaid]).decode


class Asked:
    """An attempt of a call of a shard here that another agent makes; see `calls.Remote`."""

    def __init__(self, owner: RemoteCalls, call: OpenCall, place: Place) -> None:
        self.call = call
        self.place = place
        self.number = 0
        #: Whether it was asked for; nothing is out while it pauses.
        self.is_asked = False
        #: Whether nothing more is said of it: its shard is not here any more, or the call is made elsewhere.
        self.is_detached = False
        #: What has come of it before this agent had its shard.
        self.outcome: AttemptEnded | AttemptUnmade | None = None
        self.attempt: Attempt | None = None
        self._owner = owner

    @property
    def agent(self) -> str:
        """The agent that makes it."""
        return self.place.agent

    @property
    def key(self) -> tuple[int, str]:
        """The shard, and the name of the call."""
        mailbox = self.call.execution.mailbox
        assert mailbox is not None
        return mailbox.shard, self.call.key

    def launch(self, attempt: Attempt) -> None:
        """Have an attempt made; from any thread."""
        self.attempt = attempt
        attempt.on_stop(self._call_off, waits=True)
        self._owner.begin(self)

    def _call_off(self) -> None:
        """Call the attempt off; what comes of it is waited for, as here."""
        if self.is_asked and not self.is_detached:
            self._owner.call_off(self)
        elif self.attempt is not None:
            self.attempt.settle(None, None)

    def detach(self) -> None:
        """Stop talking about it, and let who waits for its outcome go."""
        self.is_detached = True
        if self.call.handle is not None:
            self.call.handle.cancel()
        if self.attempt is not None:
            # It was called off before, and that was waited for.
            self.attempt.settle(None, None)


class Guest:
    """An attempt that is made here for a shard of another agent, or for another version of the run."""

    def __init__(self, owner: RemoteCalls, asked: AttemptAsked, service: Service | None) -> None:
        self.owner = owner
        self.asked = asked
        self.service = service
        self.handle: Handle | None = None
        # Whoever takes it decides: the thread that begins the service, or the agent that gives the attempt up.
        self._turn = [None]

    def began(self) -> None:
        """Begin its service, from any thread; raise where it was given up before."""
        try:
            self._turn.pop()
        except IndexError:
            raise Told("it was given up before it began") from None

    def prevent(self) -> bool:
        """Let its service never begin; return whether it had not."""
        try:
            self._turn.pop()
        except IndexError:
            return False
        return True

    @property
    def has_begun(self) -> bool:
        """Whether its service has begun, as far as is known; it was not given up."""
        return not self._turn

    @property
    def printed(self) -> str:
        """The end of what it has printed."""
        found: str = getattr(self.handle, "printed", "")
        return found

    def cancel(self) -> None:
        """End it."""
        if self.handle is not None:
            self.handle.cancel()


class GuestEnded(NamedTuple):
    """What has come of a guest."""

    guest: Guest
    value: Any
    failure: Failure | None


class _Services(NamedTuple):
    """Services that can be called here: of the run, or of a sub-workflow, of which there is a digest."""

    caller: Caller
    services: Mapping[str, Service]
    definition: str = ""
    folder: Path | None = None


class _Limit:
    """A service that is called at one agent at a time."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        #: Where it is called, if another agent has the lease.
        self.place: Place | None = None


class RemoteCalls:
    """The calls of one run that agents make for each other, as one of them has them; for one thread."""

    def __init__(
        self, store: Store, run: str, agent: str, *, token: str, heartbeats: Heartbeats, put: Callable[[Any], None]
    ) -> None:
        """`put` takes what has come of guests from any thread, and wakes this one."""
        self._store = store
        self._run = run
        self._log = calls_of(run)
        self._agent = agent
        self._token = token
        self._heartbeats = heartbeats
        self._put = put
        self._thread = threading.get_ident()
        self._queue: CallQueue | None = None
        self._peers: dict[str, Place] = {}
        self._caller: Caller | None = None
        # What can be called here, by the services that lead to it.
        self._services: dict[tuple[str, ...], _Services | None] = {}
        self._lacks: frozenset[str] = frozenset()
        self._limits: dict[Limit, _Limit] = {}
        self._asked: dict[tuple[int, str], Asked] = {}
        # What has begun, in any thread, and is not asked for yet.
        self._to_ask = deque[Asked]()
        self._lost: list[tuple[Asked, Why]] = []
        self._guests: dict[_Id, Guest] = {}
        # Those that an earlier version of the run began as calls of its own.
        self._continued: dict[OpenCall, Guest] = {}
        # What was called here in the version before, by its name, while it is found out which of it is wanted.
        self._inherited: _Inherited | None = None
        # Attempts that were made here, or called off: none is made twice.
        self._known = set[_Id]()
        self._said: list[Said] = []
        # How far the log was read, and whether all was that was there when this began to hear of it.
        self._up_to = 0
        self._is_caught_up = False
        self._history: History | None = None
        # The epochs in which shards were last taken, by anybody; and those in which they are here.
        self._epochs: dict[int, int] = {}
        self._here: dict[int, int] = {}
        self._offers_at = time.monotonic() + OFFER_SECONDS
        self._has_offered = False

    def open(self, caller: Caller, services: Iterable[Service], lacks: frozenset[str]) -> CallQueue:
        """Be able to make calls of the services of a run that are here; return which are made when."""
        self._caller, self._lacks = caller, lacks
        self._services[()] = _Services(caller, {one.name: one for one in services}, folder=caller.folder)
        self._queue = CallQueue(caller, self, self._peers)
        for guest in self._guests.values():
            self._take_room(guest)
        return self._queue

    # --- What is said.

    def hear(self, records: Iterable[Record]) -> None:
        """Take records of the log; those that were there before are read first."""
        if not self._is_caught_up:
            self.catch_up()
        self._hear(records)

    def catch_up(self) -> None:
        """Read what was said since it was last heard of."""
        while True:
            found = self._store.read(self._log, self._up_to, MAX_READ)
            self._hear(found)
            if len(found) < MAX_READ:
                self._is_caught_up = True
                self._end_inheritance()
                return

    @property
    def is_caught_up(self) -> bool:
        """Whether all was heard that was said before now, but for what is new."""
        return self._is_caught_up

    def _hear(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.position > self._up_to:
                for one in _read(record):
                    self._take(one)
                self._up_to = record.position

    def _take(self, said: AnySaid) -> None:
        match said:
            case RoomOffered():
                self._take_offer(said)
            case ShardMoved():
                self._epochs[said.shard] = max(said.epoch, self._epochs.get(said.shard, 0))
            case AttemptAsked(token=token):
                if token == self._token and not _is_stale(said, self._epochs):
                    self._make(said)
            case AttemptOff(token=token):
                if token == self._token and not _is_stale(said, self._epochs):
                    one = (said.shard, said.call, said.number)
                    self._known.add(one)
                    guest = self._guests.get(one)
                    if guest is not None:
                        guest.cancel()
            case AttemptEnded() | AttemptUnmade():
                asked = self._asked.get((said.shard, said.call))
                if asked is not None and asked.number == said.number:
                    self._come(asked, said)

    def _take_offer(self, offer: RoomOffered) -> None:
        if offer.token == self._token:
            return
        peers = self._peers
        known = peers.get(offer.agent)
        if not offer.slots:
            peers.pop(offer.agent, None)
        elif known is None or known.token != offer.token:
            peers[offer.agent] = Place(offer.agent, offer.token, offer.slots, offer.lacks)
        else:
            known.is_full = False

    def flush(self, *, may_ask: bool) -> None:
        """Write what is to be said; what is asked for only if the journals of the shards have it."""
        while may_ask and self._to_ask:
            self._ask(self._to_ask.popleft())
        if self._said:
            records = packed_calls(self._said, self._store.max_record_bytes // 2)
            self._store.append_all([Append(self._log, one) for one in records])
            self._said.clear()

    # --- Calls of shards that are here.

    def ask(self, call: OpenCall, place: Place) -> Asked:
        """Have a call made at another agent, as soon as it begins."""
        return Asked(self, call, place)

    def begin(self, asked: Asked) -> None:
        """Ask for an attempt, at the end of the turn; from any thread."""
        self._to_ask.append(asked)
        if threading.get_ident() != self._thread:
            self._put(None)

    def _ask(self, asked: Asked) -> None:
        attempt = asked.attempt
        if attempt is None or asked.is_detached or (attempt.over and not asked.is_asked):
            return
        self._asked[asked.key] = asked
        if asked.outcome is not None:
            self._come(asked, asked.outcome)
        elif not asked.is_asked:
            shard, call = asked.key
            identity = attempt.identity
            assert identity is not None
            try:
                arguments = keep(self._store, codec.pieces([attempt.arguments, attempt.keywords]))
            except codec.Unrecordable as error:
                attempt.fail("FAILED", f"its arguments cannot be passed to another machine: {error}")
                return
            asked.is_asked = True
            place, service = asked.place, asked.call.request.service
            epoch, inside = self._here.get(shard, 0), asked.call.instance.inside
            within, definition = ((), "") if inside is None else (inside.services, inside.sub.definition)
            self._said.append(
                AttemptAsked(
                    place.agent, place.token, shard, call, asked.number, service, identity, arguments, epoch,
                    within, definition,
                )
            )  # fmt: skip

    def _come(self, asked: Asked, said: AttemptEnded | AttemptUnmade) -> None:
        """Take what has come of an attempt."""
        attempt = asked.attempt
        if attempt is None:
            # Its call is about to begin.
            asked.outcome = said
        elif isinstance(said, AttemptUnmade):
            asked.place.is_full |= said.is_full
            if said.is_unknown:
                inside = asked.call.instance.inside
                within = () if inside is None else inside.services
                asked.place.lacks.add(path_of(within, asked.call.request.service))
            else:
                for limit in self._limits.values():
                    if limit.place is asked.place:
                        limit.place = None
            self._lost.append((asked, "released" if said.is_released else "unmade"))
        elif said.kind == "CANCELLED" and not attempt.over:
            # An agent that had the shard before has called it off, and could not note why.
            self._lost.append((asked, "agent"))
        else:
            asked.is_asked, asked.outcome = False, None
            if said.kind is None:
                # Of a failure it is a part already.
                attempt.printed = said.output
            if said.kind is not None:
                attempt.fail(said.kind, said.text, said.output)
                return
            try:
                value = codec.decode(said.value.read(self._store))
            except ValueError as error:
                attempt.fail("FAILED", f"its result does not read: {error}")
            else:
                self._asked.pop(asked.key, None)
                attempt.succeed(value)

    def call_off(self, asked: Asked) -> None:
        """Call an attempt off at the agent that makes it."""
        shard, call = asked.key
        self._said.append(AttemptOff(asked.place.token, shard, call, asked.number, self._here.get(shard, 0)))

    def take_shard(self, shard: int, epoch: int) -> None:
        """Have a shard in an epoch."""
        self._here[shard] = epoch

    def adopt(self, call: OpenCall, agent: str, number: int) -> Asked | None:
        """Return an attempt that was asked for before this agent had the shard; nothing if it was not."""
        assert call.execution.mailbox is not None
        shard = call.execution.mailbox.shard
        self._fence(shard)
        if self._history is None:
            self._history = history_of(self._store, self._log)
        one = (shard, call.key, number)
        tokens, outcomes = self._history
        if one not in tokens:
            return None
        place = self._peers.get(agent)
        if place is None or place.token != tokens[one]:
            place = Place(agent, tokens[one])
        asked = Asked(self, call, place)
        asked.number, asked.is_asked, asked.outcome = number, True, outcomes.get(one)
        self._asked[asked.key] = asked
        return asked

    def _fence(self, shard: int) -> None:
        """Let nothing count that an agent which had a shard before, and may only have been stopped, still asks for."""
        epoch = self._here.get(shard, 0)
        if self._epochs.get(shard, 0) < epoch:
            self._epochs[shard] = epoch
            self._store.append_all([Append(self._log, _ENCODE([ShardMoved(shard, epoch)]))])
            self._history = None

    def forget_history(self) -> None:
        """Have what was said before in no memory: no shard is taken for now."""
        self._history = None

    def forget(self, shard: Execution) -> None:
        """Have nothing to do with the calls of a shard any more: they go on, and whoever has it waits for them."""
        for asked in [one for one in self._asked.values() if one.call.execution is shard]:
            del self._asked[asked.key]
            asked.detach()
        for asked in [one for one in self._to_ask if one.call.execution is shard]:
            asked.detach()
        assert shard.mailbox is not None
        number = shard.mailbox.shard
        # What it said may rest on what its journal has not taken.
        self._said = [
            one for one in self._said if not isinstance(one, AttemptAsked | AttemptOff) or one.shard != number
        ]

    def set_adrift(self) -> None:
        """Ask for nothing: the store is away. What guests have answered is kept until it is there again."""
        self._to_ask.clear()
        self._said = [one for one in self._said if not isinstance(one, AttemptAsked | AttemptOff)]
        self._is_caught_up = False

    def look(self) -> None:
        """See who of those that make calls for shards here is gone."""
        if not self._is_caught_up:
            self.catch_up()
        for key, asked in list(self._asked.items()):
            if asked.call not in asked.call.execution.calls.out:
                del self._asked[key]
                # Its agent may never say what has come of it.
                asked.detach()
        places = {one.place for one in self._asked.values()} | set(self._peers.values())
        places |= {one.place for one in self._limits.values() if one.place is not None}
        if not places:
            return
        alive = self._heartbeats.alive()
        gone = {one for one in places if self._is_gone(one, alive)}
        if not gone:
            return
        # Whatever it has answered is there by now.
        self.catch_up()
        for asked in [one for one in self._asked.values() if one.place in gone]:
            self._lost.append((asked, "agent" if asked.is_asked else "unmade"))
        for name in [name for name, one in self._peers.items() if one in gone]:
            del self._peers[name]
        for limit in self._limits.values():
            if limit.place in gone:
                limit.place = None

    def _is_gone(self, place: Place, alive: Mapping[str, Entry]) -> bool:
        if place.agent == self._agent:
            return place.token != self._token
        if self._heartbeats.is_presumed_dead(place.agent):
            return True
        entry = alive.get(place.agent)
        return entry is not None and token_of(entry) != place.token

    def lost(self) -> list[tuple[OpenCall, Why]]:
        """Return the calls that are to be made again, once; nobody else makes them from now on."""
        lost, self._lost = self._lost, []
        found = list[tuple["OpenCall", "Why"]]()
        for asked, why in lost:
            if asked.is_detached:
                continue
            if self._asked.pop(asked.key, None) is not None and why == "agent":
                self.call_off(asked)
            asked.detach()
            found.append((asked.call, why))
        return found

    # --- Limits.

    def holder(self, service: Service) -> Place | None:
        """Return where a service with limits is called now; take that on if nobody has it."""
        limit = self._limits.get(limit_of(service))
        assert self._queue is not None
        if limit is None:
            digest = blake2b(repr(limit_of(service)).encode(), digest_size=DIGEST_BYTES).hexdigest()
            lease = Lease(self._store, key_of(self._run, f"limit/{digest}"), self._agent)
            limit = self._limits[limit_of(service)] = _Limit(lease)
        if limit.lease.epoch is None and limit.place is None:
            self._find_holder(service, limit)
        return self._queue.here if limit.lease.epoch is not None else limit.place

    def _find_holder(self, service: Service, limit: _Limit) -> None:
        holder = limit.lease.holder()
        is_free = holder is None or holder.agent in {"", self._agent}
        if is_free or (holder is not None and self._heartbeats.is_presumed_dead(holder.agent)):
            if limit.lease.take(self._heartbeats, known=holder) is not None:
                if holder is not None and self._caller is not None:
                    # The last call may have begun just now, where it was called before.
                    self._caller.pause(service)
                return
            holder = limit.lease.holder()
        if holder is not None and holder.agent not in {"", self._agent}:
            entry = self._heartbeats.alive().get(holder.agent)
            limit.place = None if entry is None else Place(holder.agent, token_of(entry))

    def after_lapse(self) -> set[Limit]:
        """Give up what others may have been asked to make since; return the limits that another agent has now.

        Also what this agent was asked for and has not read: nothing of it has begun, since nothing may begin now.
        """
        self.catch_up()
        lost: set[Limit] = set()
        for name, limit in self._limits.items():
            holder = None if limit.lease.epoch is None else limit.lease.holder()
            if holder is not None and (holder.agent, holder.epoch) != (self._agent, limit.lease.epoch):
                limit.lease.epoch = None
                lost.add(name)
        for guest in list(self._guests.values()):
            if not guest.has_begun or (guest.service is not None and limit_of(guest.service) in lost):
                self._give_up(guest)
        return lost

    # --- Calls of shards that are elsewhere.

    @property
    def offers_in(self) -> float:
        """In how many seconds this agent offers room, if it still has some."""
        is_busy = self._has_offered or (self._queue is not None and not self._queue.has_room)
        return math.inf if is_busy else max(0.0, self._offers_at - time.monotonic())

    def offer(self) -> None:
        """Offer room to others."""
        assert self._queue is not None
        self._has_offered = True
        self._said.append(RoomOffered(self._agent, self._token, self._queue.here.slots, tuple(sorted(self._lacks))))

    def _make(self, asked: AttemptAsked) -> None:
        """Make an attempt that was asked for."""
        one, queue = (asked.shard, asked.call, asked.number), self._queue
        if one in self._known:
            return
        if asked.goes_on:
            self._go_on_with(asked)
            return
        found = self._find_services(asked.within)
        service = None if found is None or found.definition != asked.definition else found.services.get(asked.service)
        if queue is None or found is None or service is None or not self._is_called_here(service):
            self._refuse(asked, is_unknown=service is None)
            return
        guest = Guest(self, asked, service)
        try:
            arguments, keywords = codec.decode(asked.arguments.read(self._store))
        except ValueError as error:
            self._known.add(one)
            self._said.append(AttemptEnded(*one, kind="FAILED", text=f"its arguments do not read: {error}"))
            return
        if not queue.accept(guest, service, found.caller):
            self._has_offered, self._offers_at = False, -math.inf
            self._refuse(asked, is_full=True)
            return
        self._known.add(one)
        self._guests[one] = guest
        identity = asked.identity
        done = partial(self._done, guest)
        guest.handle = found.caller.attempt(
            service.name, identity.task, arguments, keywords, done, identity, guest.began
        )

    def _is_called_here(self, service: Service) -> bool:
        return not is_limited(service) or (self._queue is not None and self.holder(service) is self._queue.here)

    def _find_services(self, within: tuple[str, ...]) -> _Services | None:
        """Return what can be called here inside a sub-workflow; nothing if that is not here."""
        if within in self._services:
            return self._services[within]
        around, found = self._find_services(within[:-1]) if within else None, None
        service = None if around is None else around.services.get(within[-1])
        if around is not None and service is not None and service.kind == "workflow":
            try:
                sub = Subworkflow(*workflow_of(service, around.folder))
                if sub.workflow is not None:
                    inner = around.caller.within(
                        sub.workflow.services, folder=sub.folder, makers=LAUNCHERS, observer=around.caller.observer
                    )
                    services = {one.name: one for one in sub.workflow.services}
                    found = _Services(inner, services, sub.definition, sub.folder)
            except SolventError:
                # Who has it makes its calls.
                found = None
        self._services[within] = found
        return found

    def _refuse(self, asked: AttemptAsked, *, is_full: bool = False, is_unknown: bool = False) -> None:
        self._known.add((asked.shard, asked.call, asked.number))
        said = AttemptUnmade(asked.shard, asked.call, asked.number, is_full=is_full, is_unknown=is_unknown)
        self._said.append(said)

    def _done(self, guest: Guest, value: Any, failure: Failure | None, _attempts: int) -> None:
        self._put(GuestEnded(guest, value, failure))

    def end(self, ended: GuestEnded) -> None:
        """Write what has come of an attempt that was made here."""
        guest, failure, asked = ended.guest, ended.failure, ended.guest.asked
        one = (asked.shard, asked.call, asked.number)
        if self._guests.pop(one, None) is None:
            return
        if self._queue is not None:
            self._queue.end(guest, is_done=failure is None or failure.kind != "CANCELLED")
        value = Kept()
        found, failure = pickled_parts(guest.service, ended.value, failure)
        if failure is None:
            try:
                passed = keepable(found, self._store.max_blob_bytes)
                if isinstance(passed, Failure):
                    failure = passed
                else:
                    value = keep(self._store, passed)
            except MemoryError:
                failure = Failure("FAILED", NO_MEMORY)
        if failure is None:
            self._said.append(AttemptEnded(*one, value, output=guest.printed))
        else:
            self._said.append(AttemptEnded(*one, kind=failure.kind, text=failure.text, output=failure.output))

    # --- Calls of an earlier version.

    def inherit(self, before: RemoteCalls, calls: Mapping[str, OpenCall], answers: Iterable[Answer | Again]) -> None:
        """Continue what was called here in an earlier version of the run, as far as that is wanted; cancel the rest.

        `calls` are those of shards that were here, by their names, and `answers` what has come of them.
        """
        before.flush(may_ask=False)
        guests = sorted(before._guests.values(), key=lambda one: one.asked.number)
        named = {one.asked.identity.key: one for one in guests}
        self._inherited = _Inherited(before._log, dict(calls), named, list(answers))
        before._guests.clear()
        self._continued = dict(before._continued)
        self.catch_up()

    def _end_inheritance(self) -> None:
        """Cancel what is not wanted in this version: whoever made it has asked for the rest."""
        known, self._inherited = self._inherited, None
        if known is None:
            return
        for call in known.calls.values():
            call.cancel()
        for guest in known.guests.values():
            guest.cancel()
        for answer in known.answers:
            self.take(answer)

    def _go_on_with(self, asked: AttemptAsked) -> None:
        """Tell from now on what comes of a call that was begun in an earlier version of the run."""
        one, name, known = (asked.shard, asked.call, asked.number), asked.identity.key, self._inherited
        self._known.add(one)
        guest = None if known is None else known.guests.pop(name, None)
        call = None if known is None else known.calls.pop(name, None)
        if guest is not None:
            guest.owner, guest.asked = self, asked
        elif call is not None:
            guest = self._continued[call] = Guest(self, asked, None)
            guest.began()
            guest.handle = call
        if guest is not None:
            self._guests[one] = guest
            self._take_room(guest)
            return
        ended = None if known is None else known.outcome(self._store, name, self._token)
        self._said.append(AttemptUnmade(*one) if ended is None else msgspec.structs.replace(
            ended, shard=asked.shard, call=asked.call, number=asked.number
        ))  # fmt: skip

    def _take_room(self, guest: Guest) -> None:
        found = self._services.get(guest.asked.within)
        guest.service = None if found is None else found.services.get(guest.asked.service)
        if self._queue is not None and found is not None and guest.service is not None:
            self._queue.occupy(guest, guest.service, found.caller)

    def take(self, answer: Answer | Again) -> None:
        """Take what has come of a call that an earlier version of the run began, if that continues here."""
        if self._inherited is not None:
            self._inherited.answers.append(answer)
            return
        guest = self._continued.pop(answer.call, None)
        if guest is None:
            return
        if not isinstance(answer, Again):
            self.end(GuestEnded(guest, answer.value, answer.failure))
            return
        # Whether it is tried again is the business of who has the shard.
        self.end(GuestEnded(guest, None, answer.failure))
        answer.call.cancel()

    def _give_up(self, guest: Guest) -> None:
        """Make an attempt no longer; others make it again."""
        asked = guest.asked
        del self._guests[asked.shard, asked.call, asked.number]
        if self._queue is not None:
            self._queue.end(guest, is_done=False)
        is_released = not guest.prevent()
        self._said.append(AttemptUnmade(asked.shard, asked.call, asked.number, is_released=is_released))
        guest.cancel()

    def leave(self) -> None:
        """Leave all to others."""
        for guest in list(self._guests.values()):
            self._give_up(guest)
        if self._has_offered:
            self._said.append(RoomOffered(self._agent, self._token, 0))
        self.flush(may_ask=False)
        for limit in self._limits.values():
            limit.lease.release()


class _Inherited:
    """What was called at an agent in the version before, and is not known to be wanted any more."""

    def __init__(
        self, log: str, calls: dict[str, OpenCall], guests: dict[str, Guest], answers: list[Answer | Again]
    ) -> None:
        self.calls = calls
        self.guests = guests
        self.answers = answers
        self._log = log

    def outcome(self, store: Store, name: str, token: str) -> AttemptEnded | None:
        """Return what came of a call that ended here before it was asked for in the new version."""
        found = None
        numbers = dict[_Id, None]()
        for said in read_calls(store, self._log):
            if isinstance(said, AttemptAsked) and (said.identity.key, said.token) == (name, token):
                numbers[said.shard, said.call, said.number] = None
            elif isinstance(said, AttemptEnded) and (said.shard, said.call, said.number) in numbers:
                found = said
        return found


def read_calls(store: Store, log: str) -> Iterator[AnySaid]:
    """Yield all that was said in a log of calls."""
    after = 0
    while found := store.read(log, after, MAX_READ):
        for record in found:
            yield from _read(record)
        after = found[-1].position


def history_of(store: Store, log: str) -> History:
    """Return what was ever asked for, of which process, and what has come of it."""
    asked: dict[_Id, str] = {}
    outcomes: dict[_Id, AttemptEnded | AttemptUnmade] = {}
    epochs: dict[int, int] = {}
    for said in read_calls(store, log):
        if isinstance(said, ShardMoved):
            epochs[said.shard] = max(said.epoch, epochs.get(said.shard, 0))
        elif isinstance(said, AttemptAsked):
            if not _is_stale(said, epochs):
                asked[said.shard, said.call, said.number] = said.token
        elif isinstance(said, AttemptEnded | AttemptUnmade):
            outcomes.setdefault((said.shard, said.call, said.number), said)
    return asked, outcomes


def packed_calls(said: Iterable[Said], max_bytes: int) -> Iterator[bytes]:
    """Make records of what is said about calls."""
    some, size = list[msgspec.Raw](), 0
    for one in map(_ENCODE, said):
        if some and size + len(one) > max_bytes:
            yield _ENCODE(some)
            some, size = [], 0
        some.append(msgspec.Raw(one))
        size += len(one)
    if some:
        yield _ENCODE(some)


def _read(record: Record) -> list[AnySaid]:
    try:
        return _DECODE(record.data)
    except UNREADABLE as error:
        said = f"record {record.position} of `{record.log}` does not read: {error}"
        raise RecordProblem("R403", said) from None


def _is_stale(said: AttemptAsked | AttemptOff, epochs: Mapping[int, int]) -> bool:
    """Return whether another agent has taken the shard since, before this was said."""
    return said.epoch < epochs.get(said.shard, 0)


def token_of(entry: Entry) -> str:
    """Return which process of an agent writes its heartbeat."""
    try:
        return str(heartbeat_from_value(entry.value).get("token", ""))
    except StoreError:
        return ""


__all__ = [
    "AttemptAsked", "AttemptEnded", "AttemptUnmade", "Guest", "GuestEnded", "History", "RemoteCalls", "history_of",
    "packed_calls", "token_of",
]  # fmt: skip
