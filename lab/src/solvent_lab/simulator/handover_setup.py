"""What is simulated of data handover, and what is seen of it."""

from __future__ import annotations

import msgspec

from solvent.errors import Misuse
from solvent_lab.simulator.handover_platform import PLATFORMS

MODES = ("peer", "server")
LEAVERS = ("use", "drop")
FETCHES = ("grant", "acquire")
_CODE = "P316"
_LEAST = {"peers": 1, "bytes": 1, "cycles": 1, "exchange_every": 1, "order": 2}
_DURATIONS = ("locked", "wblocked", "idle", "pause")


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated; times in seconds."""

    peers: int = 50
    #: How large the data is.
    bytes: int = 50 * 1024 * 1024
    #: The paper's T_locked, T_Wblocked and T_idle.
    locked: float = 5.0
    wblocked: float = 0.0
    idle: float = 0.0
    #: Which part of the peers comes and goes; if and when these use the resource, and how long they sleep in between.
    leaving: float = 0.0
    leavers: str = "use"
    pause: float = 1.0
    #: `peer`: ELMP. `server`: lock and data at a server.
    mode: str = "peer"
    #: When a peer fetches the data: as soon as the lock is granted, or when it waits for it.
    fetch: str = "grant"
    #: Of each peer that stays.
    cycles: int = 100
    platform: str = "grid5000"
    #: See `ElmpConfig`.
    order: int = 2
    is_lazy: bool = False
    exchange_every: int = 1

    def __post_init__(self) -> None:
        names = ("mode", MODES), ("leavers", LEAVERS), ("fetch", FETCHES)
        for name, known in (*names, ("platform", tuple(PLATFORMS))):
            value = getattr(self, name)
            if value not in known:
                raise Misuse(_CODE, f"there is no {name} `{value}`", hint=f"there are {', '.join(known)}")
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise Misuse(_CODE, f"`{name}` is {getattr(self, name)}, and must be {least} at least")
        for name in _DURATIONS:
            if not 0 <= getattr(self, name) < float("inf"):
                raise Misuse(_CODE, f"`{name}` is {getattr(self, name)}, and must be a number of seconds")
        if not 0 <= self.leaving <= 1:
            raise Misuse(_CODE, f"`leaving` is {self.leaving}, and must be a part: from 0 to 1")
        if self.leavers_count >= self.peers:
            raise Misuse(_CODE, "all peers come and go: somebody must stay, or there are no cycles to see")
        if self.leavers_count and not self.pause:
            raise Misuse(_CODE, "`pause` is 0: who comes and goes without a pause stops the clock")
        if self.fetch == "acquire" and self.mode == "server":
            raise Misuse(_CODE, "a server sends the data with the lock: nobody fetches it later")

    @property
    def leavers_count(self) -> int:
        """How many come and go."""
        return round(self.leaving * self.peers)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in one run. Means are over all cycles of all peers that stay; times in seconds."""

    #: The paper's T_DHO, T_wait and T_blocking.
    cycle: float
    wait: float
    blocking: float
    #: All messages, those with data among them, for each use of the resource.
    messages_per_cycle: float
    #: From asking for the data until it is there, where it had to be fetched; without a server only.
    fetch: float
    #: How often data moved, for each use.
    transfers_per_cycle: float
    #: The mean cycle but for each peer's first, which has no full round before it.
    settled: float
    min_cycle: float
    max_cycle: float
    #: How many cycles those who stay have done, how often the others have used the resource, and left.
    cycles: int
    uses_of_leavers: int
    departures: int
    #: Seconds of simulated time.
    seconds: float
    #: Messages by their names.
    kinds: dict[str, int]


__all__ = ["FETCHES", "LEAVERS", "MODES", "Outcome", "Setup"]
