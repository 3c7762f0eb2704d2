"""Results that calls share with later ones: of the same code, called with the same arguments.

A result is kept under a key of the store, which is made of the hash of the code of its service and of its arguments.
Whoever is about to make a call whose service has a cache looks there first. If nothing is there it claims the key, and
puts the result in the place of its claim; everybody else who wants the same waits for that, in this run and in others.
A claim is renewed while its call is out. One that has not been for a minute was left by a process that is gone, and is
taken over; how long that is, is measured by who waits, since clocks differ.

*Trails* say with which code and arguments a task was called last, and so why a result was not there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from solvent.errors import Conflict, StoreError
from solvent.runs.kept import Kept, keep
from solvent.services.call import cancelled_failure
from solvent.values import codec
from solvent.values.encoding import encode_msgpack
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solvent.services.caller import Handle
    from solvent.services.failure import Failure
    from solvent.store import Store
    from solvent.values.encoding import Pieces

RESULTS, TRAILS = "cache/result/", "cache/trail/"
STALE_SECONDS = 60.0
RENEW_SECONDS = 15.0
LOOK_SECONDS = 0.2
_KEY_BYTES = 20
_TRAIL_BYTES = 12

Done = Callable[[Any, "Failure | None", int], None]


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """A result that is kept, or the claim of who makes it."""

    service: str
    run: str
    call: str
    at: float
    value: Kept = Kept()
    size: int = 0
    #: Whether it is only claimed.
    is_claim: bool = False


class Trail(msgspec.Struct, frozen=True, omit_defaults=True):
    """With which code and which arguments a task was called last."""

    code: bytes
    arguments: list[bytes]
    at: float


class Wanted(NamedTuple):
    """What a call wants of the cache."""

    key: str
    service: str
    call: str
    #: How old a result may be, in seconds.
    max_age: float


_RESULT = msgspec.msgpack.Decoder(Result).decode
_TRAIL = msgspec.msgpack.Decoder(Trail).decode


class Waiting:
    """A call that waits for what another one makes; its handle."""

    def __init__(self, wanted: Wanted, done: Done, start: Callable[[], Handle | None]) -> None:
        self.wanted = wanted
        self.done = done
        self.start = start
        #: The revision of the claim, and since when it has been there unchanged.
        self.revision, self.since = 0, time.monotonic()
        self._lock = threading.Lock()
        self._handle: Handle | None = None
        self._is_over = False

    def take(self) -> bool:
        """Return whether it still waits, the first time that it is asked: who is told so ends it."""
        with self._lock:
            is_first, self._is_over = not self._is_over, True
            return is_first

    def begin(self) -> None:
        """Make the call after all."""
        if self.take():
            self._handle = self.start()

    def cancel(self) -> None:
        """End it."""
        if self.take():
            self.done(None, cancelled_failure(), 0)
        elif self._handle is not None:
            self._handle.cancel()


class Cache:
    """The cache of a store, for one run."""

    def __init__(self, store: Store, run: str) -> None:
        #: Whether services that say nothing have a cache, too.
        self.is_for_all = False
        self._store = store
        self._run = run
        self._lock = threading.Lock()
        # What this process has claimed: since when, and the revision. And what waits here.
        self._claims: dict[str, tuple[Wanted, float, int]] = {}
        self._waiting: list[Waiting] = []
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._is_closed = False

    def find(self, wanted: Wanted) -> Result | None:
        """Return the result that a call may have, if one is there."""
        entry = self._store.get(RESULTS + wanted.key)
        result = None if entry is None else _read(entry.value)
        return result if result is not None and _fits(result, wanted) else None

    def value_of(self, result: Result) -> Any:
        """Return the value of a result; raise `LookupError` where it does not read any more."""
        try:
            return codec.decode(result.value.read(self._store))
        except (StoreError, ValueError) as error:
            raise LookupError(str(error)) from error

    def claim(self, wanted: Wanted, *, revision: int | None = None) -> bool:
        """Claim what a call is about to make; return whether nobody else makes it.

        With `revision` the claim that has it is taken over.
        """
        name = RESULTS + wanted.key
        entry = self._store.get(name)
        expected = 0
        if entry is not None:
            known = _read(entry.value)
            is_mine = known is not None and (known.run, known.call) == (self._run, wanted.call)
            is_free = known is None or not known.is_claim or is_mine or entry.revision == revision
            if not is_free or (known is not None and not known.is_claim and _fits(known, wanted)):
                return False
            expected = entry.revision
        claim = Result(wanted.service, self._run, wanted.call, time.time(), is_claim=True)
        try:
            made = self._store.put(name, encode_msgpack(claim), expected=expected)
        except Conflict:
            return False
        with self._lock:
            self._claims[wanted.call] = wanted, time.monotonic(), made
        self._go_on()
        return True

    def keep(self, call: str, value: bytes | Pieces) -> None:
        """Keep the result of a call, if it has claimed its key."""
        with self._lock:
            found = self._claims.pop(call, None)
        if found is None:
            return
        wanted = found[0]
        result = Result(
            wanted.service, self._run, call, time.time(), keep(self._store, value, room=1 << 14), len(value)
        )
        with suppress(StoreError):
            # Whoever had the claim meanwhile has the same result.
            self._store.put(RESULTS + wanted.key, encode_msgpack(result))
        self._wake.set()

    def release(self, call: str) -> None:
        """Let others make what a call has claimed, since it has no result."""
        with self._lock:
            found = self._claims.pop(call, None)
        if found is not None:
            with suppress(StoreError):
                self._store.delete(RESULTS + found[0].key, expected=found[2])
            self._wake.set()

    def wait(self, wanted: Wanted, done: Done, start: Callable[[], Handle | None]) -> Waiting:
        """Have a call wait for what another one makes; it is made after all if that comes to nothing."""
        waiting = Waiting(wanted, done, start)
        with self._lock:
            self._waiting.append(waiting)
        self._go_on()
        return waiting

    def close(self) -> None:
        """Wait for nothing any more, and give back what was claimed."""
        self._is_closed = True
        self._wake.set()
        for call in list(self._claims):
            self.release(call)

    def why(self, workflow: str, label: str, code: bytes, arguments: list[bytes], names: Sequence[str]) -> str:
        """Return why nothing was kept for a call, and remember with what it is made."""
        key = TRAILS + blake2b(encode_msgpack([workflow, label]), digest_size=_TRAIL_BYTES).hexdigest()
        entry = self._store.get(key)
        before: Trail | None = None
        if entry is not None:
            with suppress(*UNREADABLE):
                before = _TRAIL(entry.value)
        self._store.put(key, encode_msgpack(Trail(code, arguments, time.time())))
        if before is None:
            return "it was not called before"
        if before.code != code:
            return "its code has changed"
        changed = [name for name, now, then in zip(names, arguments, before.arguments, strict=False) if now != then]
        if changed or len(arguments) != len(before.arguments):
            return f"{'its arguments have' if len(changed) != 1 else f'its argument {changed[0]} has'} changed"
        return "its result is too old, or was removed"

    # --- In a thread.

    def _go_on(self) -> None:
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._look_after, name="solvent-cache", daemon=True)
                self._thread.start()
        self._wake.set()

    def _look_after(self) -> None:
        """Renew claims, and look for what is waited for, as long as there is either."""
        while True:
            with self._lock:
                if self._is_closed or not (self._waiting or self._claims):
                    self._thread = None
                    return
                waiting = list(self._waiting)
                due = [one for one in self._claims.items() if time.monotonic() - one[1][1] > RENEW_SECONDS]
            for one in waiting:
                # The store may be away for a moment.
                with suppress(StoreError):
                    if self._is_ended(one):
                        with self._lock:
                            self._waiting.remove(one)
            for call, (wanted, _, revision) in due:
                with suppress(StoreError):
                    self._renew(call, wanted, revision)
            self._wake.wait(LOOK_SECONDS if waiting else RENEW_SECONDS)
            self._wake.clear()

    def _is_ended(self, waiting: Waiting) -> bool:
        """Return whether a call does not wait any more."""
        wanted = waiting.wanted
        result = self.find(wanted)
        if result is not None:
            try:
                value = self.value_of(result)
            except LookupError:
                self._store.delete(RESULTS + wanted.key)
                return False
            if waiting.take():
                waiting.done(value, None, 1)
            return True
        entry = self._store.get(RESULTS + wanted.key)
        revision = 0 if entry is None else entry.revision
        if revision != waiting.revision:
            waiting.revision, waiting.since = revision, time.monotonic()
        is_stale = time.monotonic() - waiting.since > STALE_SECONDS
        if (entry is None or is_stale) and self.claim(wanted, revision=revision if is_stale else None):
            waiting.begin()
            return True
        return False

    def _renew(self, call: str, wanted: Wanted, revision: int) -> None:
        claim = Result(wanted.service, self._run, call, time.time(), is_claim=True)
        made = self._store.put(RESULTS + wanted.key, encode_msgpack(claim), expected=revision)
        with self._lock:
            if call in self._claims:
                self._claims[call] = wanted, time.monotonic(), made


def key_of(code: bytes, arguments: bytes) -> str:
    """Return the key of what a call of some code with some arguments makes."""
    return blake2b(encode_msgpack([code, arguments]), digest_size=_KEY_BYTES).hexdigest()


def results_in(store: Store) -> Iterator[tuple[str, Result]]:
    """Yield what a store has kept of calls, with the keys."""
    for key, entry in store.keys(RESULTS).items():
        result = _read(entry.value)
        if result is not None and not result.is_claim:
            yield key, result


def clear(store: Store, *, older_than: float = 0.0) -> int:
    """Remove what a store has kept of calls, if it is older than so many seconds; return how much that was."""
    until, removed = time.time() - older_than, 0
    for key, result in list(results_in(store)):
        if result.at <= until:
            store.drop(key)
            removed += 1
    if not older_than:
        store.drop(TRAILS)
    return removed


def _read(value: bytes) -> Result | None:
    try:
        return _RESULT(value)
    except UNREADABLE:
        return None


def _fits(result: Result, wanted: Wanted) -> bool:
    return not result.is_claim and time.time() - result.at <= wanted.max_age


__all__ = ["Cache", "Result", "Wanted", "clear", "key_of", "results_in"]
