"""`solvent lab simulate handover`: peers pass data on with a lock, and it is seen how long a cycle takes."""

from __future__ import annotations

from argparse import ArgumentTypeError
from statistics import fmean
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import at_least, seconds
from solvent.cli.render import counted
from solvent.errors import Misuse
from solvent_lab.cli.simulate import part
from solvent_lab.simulator.handover import FETCHES, LEAVERS, MODES, Setup, simulate
from solvent_lab.simulator.handover_network import PLATFORMS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from solvent_lab.simulator.handover import Outcome

SAYS = """\
Let peers use one resource in turn, again and again: each claims it, goes on for a while, waits until it has lock and
data, holds it, and passes both on. This is the benchmark of the paper on data handover (its Listing 2).

  peer      no server: the lock is ELMP, and the data goes straight from who had it to who has it next
  server    lock and data at a server, as it was before: the data moves twice

Networks are like Grid'5000, with SimGrid's factors (latency x 10.4, bandwidth x 0.92):

""" + "\n".join(f"  {one.name:<10}{one.says}" for one in PLATFORMS.values())
EXAMPLE = "solvent lab simulate handover --peers 50 --bytes 50MiB --locked 5 --leaving 0.25"
DRAWN = {"--peers": "4", "--cycles": "2"}
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_OF_LEAVERS = ("leavers", "pause")
_OF_LOCKS = ("order", "lazy", "exchange_every", "fetch")


def add_options(parser: ArgumentParser) -> None:
    """Add what can be said about the peers, the data and the network."""
    usual = Setup()
    add = parser.add_argument
    add("--peers", type=at_least(1), default=usual.peers, metavar="N", help="(default: %(default)s)")
    says = "how large the data is, as in 52428800 or 50MiB (default: 50MiB)"
    add("--bytes", type=_size, default=usual.bytes, metavar="B", help=says)
    add("--mode", choices=MODES, default=usual.mode, help="(default: %(default)s)")
    says = "cycles of each peer that stays (default: %(default)s)"
    add("--cycles", type=at_least(1), default=usual.cycles, metavar="C", help=says)
    says = "seconds for which a peer holds the resource (default: 5)"
    add("--locked", type=seconds, default=usual.locked, metavar="S", help=says)
    says = "seconds for which it goes on between claiming the resource and waiting for it (default: 0)"
    add("--wblocked", type=seconds, default=usual.wblocked, metavar="S", help=says)
    says = "seconds between two cycles of a peer (default: 0)"
    add("--idle", type=seconds, default=usual.idle, metavar="S", help=says)
    add("--platform", choices=tuple(PLATFORMS), default=usual.platform, help="the network (default: %(default)s)")
    says = "when the data is fetched: as soon as the lock is granted (usual), or not before the peer waits for it"
    add("--fetch", choices=FETCHES, help=says)
    add = parser.add_argument_group("peers that come and go").add_argument
    says = "this part of the peers leaves and comes back in each cycle: the paper's Listing 1 (default: 0)"
    add("--leaving", type=part, default=usual.leaving, metavar="P", help=says)
    says = "they use the resource in each cycle (use; usual), or drop all their claims, as printed (drop)"
    add("--leavers", choices=LEAVERS, help=says)
    says = "seconds of each of their two pauses (default: 1)"
    add("--pause", type=seconds, metavar="S", help=says)
    add = parser.add_argument_group("the lock, without a server").add_argument
    add("--order", type=at_least(2), metavar="M", help="children of a process at most (default: 2)")
    add("--lazy", action="store_true", help="the tree is built anew when it is too high, and not kept low before")
    says = "root and requester change seats at every so many requests (default: 1, as in the paper)"
    add("--exchange-every", type=at_least(1), metavar="K", help=says)


def setup(options: Namespace) -> Setup:
    """Return what is simulated, or refuse an option that would change nothing."""
    for name in _OF_LEAVERS:
        if getattr(options, name) is not None and not options.leaving:
            raise Misuse("P316", f"`--{name}` is about peers that come and go, and none does", hint="--leaving 0.25")
    for name in _OF_LOCKS:
        if getattr(options, name) and options.mode == "server":
            said = name.replace("_", "-")
            raise Misuse("P316", f"`--{said}` is about the lock without a server, and this is `--mode server`")
    usual = Setup()
    return Setup(
        peers=options.peers,
        bytes=options.bytes,
        locked=options.locked,
        wblocked=options.wblocked,
        idle=options.idle,
        leaving=options.leaving,
        leavers=options.leavers or usual.leavers,
        pause=usual.pause if options.pause is None else options.pause,
        mode=options.mode,
        fetch=options.fetch or usual.fetch,
        cycles=options.cycles,
        platform=options.platform,
        order=options.order or usual.order,
        is_lazy=options.lazy,
        exchange_every=options.exchange_every or usual.exchange_every,
    )


run = simulate


def summary(results: Sequence[Outcome], options: Namespace) -> dict[str, Any]:
    """Return the means over all runs."""
    names = ("cycle", "wait", "blocking", "messages_per_cycle", "fetch", "transfers_per_cycle", "settled", "seconds")
    means = {name: fmean(getattr(one, name) for one in results) for name in names}
    return {
        **means,
        "min_cycle": min(one.min_cycle for one in results),
        "max_cycle": max(one.max_cycle for one in results),
        "cycles": sum(one.cycles for one in results),
        "uses_of_leavers": sum(one.uses_of_leavers for one in results),
        "departures": sum(one.departures for one in results),
        "mode": options.mode,
        "runs": len(results),
    }


def lines(summary: dict[str, Any], options: Namespace) -> Iterator[str]:
    """Put it into words."""
    ran = setup(options)
    leavers = f", {ran.leavers_count} of them come and go" if ran.leaving else ""
    yield f"{counted(ran.peers, 'peer')}{leavers}; {_words(ran.bytes)}; {ran.mode}; {ran.platform}"
    yield f"{counted(summary['cycles'], 'cycle')} of those who stay, in seconds:"
    for name, says in (
        ("cycle", f"from {summary['min_cycle']:.3f} to {summary['max_cycle']:.3f}"),
        ("settled", "without each peer's first"),
        ("wait", "from the claim until lock and data are there"),
        ("blocking", "for which a peer can do nothing else"),
        ("fetch", "from asking for the data until it is there"),
    ):
        if summary[name] or name != "fetch":
            yield f"  {name:<10}{summary[name]:>12.3f}   {says}"
    moves = f"{summary['transfers_per_cycle']:.2f} transfers of the data among them"
    yield f"messages per cycle {summary['messages_per_cycle']:.2f}, {moves}"
    if ran.leaving:
        uses, departures = summary["uses_of_leavers"], counted(summary["departures"], "departure")
        yield f"{departures}; {counted(uses, 'cycle')} of those who come and go"


def _words(size: int) -> str:
    for unit, factor in reversed(_UNITS.items()):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return counted(size, "byte")


def _size(text: str) -> int:
    digits, factor = text, 1
    for unit, value in _UNITS.items():
        if text.endswith(unit):
            digits, factor = text.removesuffix(unit), value
    try:
        size = int(float(digits) * factor) if factor > 1 else int(digits)
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise ArgumentTypeError(f"must be a number of bytes from 1, such as 52428800 or 50MiB, not `{text}`")
    return size
