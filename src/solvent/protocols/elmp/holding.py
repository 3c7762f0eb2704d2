"""The token, the claims that it lets in, and where the data is.

A claim of the whole resource, exclusively, keeps the token until it is released. Any other claim (to read, or of a
part) is let in when the token comes, and the token goes on at once: it carries what was let in (`active`), in order. A
claim waits for those before it that it cannot be held together with, and for no others: it asks each to say when it is
over (`Await`, `Done`). So what does not conflict is held at the same time, and what does is held in the order of turns.
The token forgets claims that are over when it comes by their process, or when a claim of the whole has waited for all.

Data: the token says where the current version is. Where a part was changed under a claim of its own, the change stays
with who made it. Whoever claims anything of that part later hears of it (`Source`), in the order of turns; whoever
claims all of that part, exclusively, and changes it, or fetches the whole, relieves them (`Superseded`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.elmp.messages import (
    Await,
    Done,
    Link,
    Own,
    Relink,
    Relinked,
    Superseded,
    Taken,
    Token,
    Unlink,
    Unlinked,
)
from solvent.protocols.elmp.pieces import brought, by_node, uncovered
from solvent.protocols.elmp.queue import Queue, following
from solvent.protocols.elmp.state import ENTRUSTED, Requesting, Use
from solvent.protocols.elmp.vocabulary import (
    WHOLE,
    Claim,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Recalled,
    Source,
)
from solvent.protocols.machine import CancelTimer

if TYPE_CHECKING:
    from solvent.protocols.elmp.state import Place
    from solvent.protocols.machine import NodeId

PATIENCE = "elmp:patience:"
"""The timers of claims that wait for so long only; the handle follows."""
QueueMessage: TypeAlias = Token | Taken | Link | Unlink | Unlinked | Relink | Relinked | Await | Done | Superseded


class Holding(Queue):
    """A process that holds claims."""

    # ------------------------------------------------------------------------------------------------- the token

    def on_token(self, message: Token) -> None:
        """Let the claim in, or if it was withdrawn let the token rest or pass it on."""
        active = message.active
        if active:
            uses = {one.number for one in self.uses}
            active = tuple(one for one in active if one[0] != self.me or one[1] in uses)
        self.is_listed = bool(active) and any(one[0] == self.me for one in active)
        if message.data is not None and not message.data.is_at(self.me):
            # Word of who has taken the data may be slower.
            self.keeps = None
        turn = message.turn
        place, phase = self.place_of(turn), self.phase
        if place is None:
            # Word of the place itself may be slower, too; that it is granted says enough.
            place = self.place_of(0)
            assert place is not None
            self.remove(0)
            if type(phase) is Requesting:
                self.phase = phase = replace(phase, turn=turn)
        after, trail = place.next, place.trail
        if trail is None:
            after, trail = following(turn, after, message.trail)
        data = message.data
        place = replace(
            place, turn=turn, predecessor=None, has_token=True, data=data, active=active, next=after, trail=trail
        )
        self.latest = max(self.latest, turn)
        if place.early is not None and message.trail is not None:
            place = self.without_early(place)
        if place.handle is None:
            self.pass_on(place)
        else:
            self.let_in(place, place.handle, place.claim)
        if message.trail is not None and type(phase) is Requesting and phase.can_wait and phase.turn == turn:
            # Nobody else tells of this place.
            self.be_idle()

    def without_early(self, place: Place) -> Place:
        """Pass over who comes next if it has asked for that before this process knew it."""
        if place.next is None:
            return place
        self.put(place)
        assert place.early is not None
        self.on_unlink(place.early)
        found = self.place_of(place.turn)
        assert found is not None
        return found

    def let_in(self, place: Place, handle: int, claim: Claim) -> None:
        """Let a claim in that has the token, and wait for those that it excludes."""
        use = self.wait(place, handle, claim)
        if claim.is_plain:
            self.put(replace(place, handle=handle))
        else:
            self.is_listed = True
            # Known before the token goes, which is not asked to stay with it.
            self.put_use(use)
            self.pass_on(replace(place, active=(*place.active, (self.me, use.number, claim, use.turn))))
        self.begin(use)

    def wait(self, place: Place, handle: int, claim: Claim) -> Use:
        """Ask those who have a claim that excludes this one to say when it is over."""
        self.used += 1
        earlier = tuple(one for one in place.active if one[2].excludes(claim)) if place.active else ()
        awaits = tuple((node, number) for node, number, _, _ in earlier) if earlier else ()
        use = Use(self.used, handle, claim, place.turn, place.data, earlier=earlier, awaits=awaits)
        self.ask(use)
        return use

    def ask(self, use: Use) -> None:
        """Ask all that a claim waits for, each process once: a claim of the whole may wait for thousands of parts."""
        for node, numbers in by_node(use.awaits).items():
            self.send(node, Await(numbers, (self.me, use.number)))

    def pass_on(self, place: Place) -> None:
        """Let the next one have the token; or let it rest, and have the data fetched if its holder wants to leave."""
        data = place.data
        if place.next is None:
            self.put(replace(place, handle=None))
            if data is not None and data.is_urgent and not self.has_all(place, data):
                self.begin(self.wait(place, ENTRUSTED, WHOLE))
            return
        self.remove(place.turn)
        if self.uses:
            self.recall()
        if self.departure is not None and data is not None and (data.is_at(self.me) or self.uses):
            data = replace(data, is_urgent=True)
            self.departure = replace(self.departure, is_entrusted=True)
        # Also to a place of its own by a message, which is not to overtake others.
        self.send(place.next[0], Token(place.next[1], data, place.active, place.trail))

    def recall(self) -> None:
        """Have the data fetched no longer, before anybody else can get the token and change it."""
        use = self.claim(ENTRUSTED)
        if use is not None:
            self.uses = tuple(one for one in self.uses if one is not use)
            if use.is_held:
                self.report(Recalled())

    def has_all(self, place: Place, data: Data) -> bool:
        """Whether all data is here, or is being fetched."""
        is_here = data.holders() == {self.me} and all(node == self.me for node, *_ in place.active)
        return is_here or self.claim(ENTRUSTED) is not None

    # --------------------------------------------------------------------------------------------------- claims

    def put_use(self, use: Use) -> None:
        """Keep a claim as it is now."""
        is_only = not self.uses or (len(self.uses) == 1 and self.uses[0].number == use.number)
        self.uses = (use,) if is_only else (*self.uses_but(use.number), use)

    def uses_but(self, number: int) -> tuple[Use, ...]:
        """Give all claims but one. It is mostly among the last, behind thousands of parts that were changed."""
        uses = self.uses
        for place in range(len(uses) - 1, -1, -1):
            if uses[place].number == number:
                return uses[:place] + uses[place + 1 :]
        return uses

    def use_of(self, number: int) -> Use | None:
        """Give the claim with a number, if it is here."""
        return next((one for one in reversed(self.uses) if one.number == number), None)

    def claim(self, handle: int) -> Use | None:
        """Give a user's claim that was let in."""
        return next((one for one in reversed(self.uses) if one.handle == handle), None)

    def begin(self, use: Use) -> None:
        """Keep a claim that was let in, and grant it if it waits for nobody."""
        if use.awaits:
            self.put_use(use)
        else:
            self.grant(use)

    def consider_granting(self, use: Use) -> None:
        """Grant a claim that waits for nobody."""
        if not (use.awaits or use.is_held or use.handle is None):
            self.grant(use)

    def grant(self, use: Use) -> None:
        """Let a claim be held."""
        assert use.handle is not None
        # Who has changed a part since has relieved who had changed it before.
        sources = uncovered(use.sources) if use.sources else ()
        self.put_use(replace(use, is_held=True, sources=sources))
        if use.handle == ENTRUSTED:
            assert use.data is not None
            self.report(Entrusted(use.data, sources, use.number))
        else:
            self.stop_timer(use.handle)
            self.report(Granted(use.handle, use.turn, use.data, sources, use.number))

    def ask_again(self, use: Use) -> None:
        """Ask those that a claim waits for, who may have forgotten it; or grant it if nobody is left."""
        self.ask(use)
        self.consider_granting(use)

    def on_await(self, message: Await) -> None:
        """Say when claims are over; of those that are, at once."""
        (to, number), known = message.asker, {one.number: one for one in self.uses}
        kept = {one: known[one].handle is None for one in message.uses if one in known}
        gone = tuple(one for one in message.uses if one not in kept)
        changed = tuple(one for one, is_over in kept.items() if is_over)
        for over in (gone, changed):
            if over:
                self.send(to, Done(number, self.me, over, is_changed=over is changed))
        if len(gone) + len(changed) < len(message.uses):
            self.uses = tuple(
                one if kept.get(one.number, True) else replace(one, askers=(*one.askers, message.asker))
                for one in self.uses
            )

    def on_done(self, message: Done) -> None:
        """Hear that other claims are over."""
        use = self.use_of(message.use)
        # It may have been withdrawn meanwhile.
        over = {(message.holder, one) for one in message.over}.intersection(use.awaits) if use is not None else ()
        if use is None or not over:
            return
        use = replace(use, awaits=tuple(one for one in use.awaits if one not in over))
        place = self.place_of(use.turn)
        if message.is_changed:
            changed = {*over, *((one.holder, one.use) for one in use.sources)}
            use = replace(use, sources=tuple(Source(*one) for one in use.earlier if one[:2] in changed))
        elif place is not None and place.has_token:
            self.put(replace(place, active=tuple(one for one in place.active if one[:2] not in over)))
        self.put_use(use)
        self.consider_granting(use)

    def end(self, use: Use, *, is_changed: bool) -> None:
        """Let a claim be over, and tell who waits for that; what was changed is kept."""
        if is_changed:
            self.put_use(replace(use, handle=None, is_held=False, askers=(), sources=()))
        else:
            self.uses = self.uses_but(use.number)
        for to, number in use.askers:
            self.send(to, Done(number, self.me, (use.number,), is_changed=is_changed))

    def relieve(self, use: Use) -> None:
        """Tell those whose changes are here now that nobody will ask them any more."""
        here = [(one.holder, one.use) for one in use.sources if use.claim.covers(one.claim)]
        for node, numbers in by_node(here).items():
            self.send(node, Superseded(numbers))

    def on_superseded(self, message: Superseded) -> None:
        """Forget what was changed under claims that are over."""
        numbers = frozenset(message.uses)
        self.uses = tuple(one for one in self.uses if one.handle is not None or one.number not in numbers)

    # -------------------------------------------------------------------------------------------------- the user

    def on_release(self, handle: int, data: Data | None) -> None:
        """Let a claim be over, and pass the token on if it kept it."""
        use = self.claim(handle)
        if use is None or not use.is_held:
            return
        if use.claim.is_plain:
            self.release_whole(use, data)
        else:
            self.end(use, is_changed=data is not None and not use.claim.is_shared)
        if data is not None:
            self.relieve(use)

    def release_whole(self, use: Use, data: Data | None) -> None:
        """Let a claim be over that has kept the token; that goes first, since somebody waits for it."""
        place = self.place_of(use.turn)
        assert place is not None
        old = place.data
        if data is not None:
            data = replace(data, since=(use.turn, use.number))
            place = replace(place, data=data, active=())
            self.keeps = data.version if data.holder == self.me else None
            self.store(data)
        self.end(use, is_changed=False)
        self.pass_on(place)
        if data is not None and old is not None:
            self.tell_taken(old, data.holder)

    def on_withdraw(self, handle: int) -> None:
        """Give up a claim, whether it waits for its turn, for others, or is held."""
        mine = "request", handle
        kept = [one for one in self.queue if not isinstance(one[1], Own) or (one[1].what, one[1].handle) != mine]
        use, place = self.claim(handle), next((one for one in self.places if one.handle == handle), None)
        if len(kept) == len(self.queue) and use is None and place is None:
            return
        self.queue = kept
        self.stop_timer(handle)
        if use is not None:
            self.end(use, is_changed=False)
        if place is not None:
            place = replace(place, handle=None)
            self.put(place)
            if place.has_token:
                self.pass_on(place)
            else:
                self.go_on(place)
        self.report(Dropped(handle))

    def stop_timer(self, handle: int) -> None:
        """Wait for ever, or no longer."""
        if handle in self.timed:
            self.timed = tuple(one for one in self.timed if one != handle)
            self.effects.append(CancelTimer(f"{PATIENCE}{handle}"))

    def on_fetched(self, fetched: Fetched) -> None:
        """Be the holder of all data, as long as the claim for which it was fetched holds."""
        use = self.use_of(fetched.use)
        place = self.place_of(use.turn) if use is not None and use.is_held and use.claim.is_plain else None
        if use is None or place is None or not place.has_token or place.data is None:
            return
        old = place.data
        # A repair may have put parts over what was fetched for a claim; who is entrusted is told again after one.
        has_more = bool(old.parts or use.sources) and use.handle != ENTRUSTED
        if old.version != fetched.version or has_more:
            return
        parts = brought(self.me, old, use.sources)
        since = old.since if parts else (use.turn, use.number)
        data = Data(old.version, self.me, fetched.details, since=since, parts=parts)
        self.store(data)
        self.put(replace(place, data=data, active=()))
        self.relieve(use)
        self.put_use(replace(use, data=data, sources=()))
        self.keeps = old.version
        self.tell_taken(old, self.me)
        if use.handle == ENTRUSTED:
            self.end(use, is_changed=False)

    def tell_taken(self, old: Data, holder: NodeId) -> None:
        """Tell those that had the data that another one has it."""
        for node in sorted(old.holders()) if old.parts else (old.holder,):
            if node not in (self.me, holder):
                self.send(node, Taken(old.version))

    def store(self, data: Data) -> None:
        """Know the last version that was here."""
        if data.holder == self.me and (self.stored is None or self.stored.version <= data.version):
            self.stored = data

    def on_taken(self, message: Taken) -> None:
        """Hear that the data is elsewhere; processes that share memory may have made a later version of it here."""
        if self.keeps is not None and self.keeps <= message.version:
            self.keeps = None

    def be_idle(self) -> None:
        """Have a place in the queue, and be held for the request no longer."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------- dispatch

    def on_queue_message(self, message: QueueMessage) -> None:
        """Take what concerns the queue; it may come at any time."""
        match message:
            case Token():
                self.on_token(message)
            case Link():
                self.on_link(message)
            case Await():
                self.on_await(message)
            case Done():
                self.on_done(message)
            case Superseded():
                self.on_superseded(message)
            case Taken():
                self.on_taken(message)
            case Unlink():
                self.on_unlink(message)
            case Unlinked():
                self.on_unlinked(message)
            case Relink():
                self.on_relink(message)
            case Relinked():
                self.on_relinked(message)
            case _:
                assert_never(message)


__all__ = ["PATIENCE", "Holding", "QueueMessage"]
