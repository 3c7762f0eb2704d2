"""`solvent lab simulate token`: users on many nodes want a token, and it is seen how soon somebody gets it."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import log2
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import at_least
from solvent.cli.render import counted
from solvent.errors import Misuse
from solvent_lab.cli.simulate import number, part
from solvent_lab.simulator.token import CLEAN_UPS, FINDINGS, PROTOCOLS, Setup, simulate, taken_together

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from solvent_lab.simulator.token import Outcome

SAYS = """\
Let users on many nodes want a token, now and then or all the time, and see how soon somebody gets it.

  binary    the paper's protocol: the token goes round a ring, and a search by halving finds it
  ring      the token goes round, and nothing else
  raymond   Raymond's tree: requests go up a fixed binary tree, the token comes down
  naimi     Naimi and Trehel's: requests follow guesses that change with every request"""
EXAMPLE = "solvent lab simulate token --nodes 100 --gap 100 --protocol ring --requests 2000"
DRAWN = {"--nodes": "5", "--requests": "20"}


def add_options(parser: ArgumentParser) -> None:
    """Add what can be said about the nodes, their users and the protocol."""
    usual = Setup()
    add = parser.add_argument
    add("--nodes", type=at_least(2), default=usual.nodes, metavar="N", help="(default: %(default)s)")
    says = "mean time between requests of all nodes together; 0: every node always wants the token (default: 100)"
    add("--gap", type=_gap, default=usual.gap, metavar="T", help=says)
    add("--protocol", choices=PROTOCOLS, default=usual.protocol, help="(default: %(default)s)")
    says = "end when so many are served (default: %(default)s)"
    add("--requests", type=at_least(1), default=usual.requests, metavar="R", help=says)
    _add_searches(parser)


def _add_searches(parser: ArgumentParser) -> None:
    add = parser.add_argument_group("searches, with `binary`").add_argument
    says = "who looks: who wants the token (pull, usual), who has it (push), or both by how many want it"
    add("--finding", choices=FINDINGS, help=says)
    says = "how it gets rid of traps of those already served (default: rotation)"
    add("--clean-up", choices=CLEAN_UPS, help=says)
    add("--directed", action="store_true", help="who searches asks node after node itself")
    add("--one-search", action="store_true", help="a node passes one search on at a time")
    add("--one-by-one", action="store_true", help="the token comes back from each borrower before the next has it")
    says = "let a token that nobody wants rest for so long at each node (default: 0, never)"
    add("--rest", type=at_least(0), default=0, metavar="T", help=says)
    says = "search again after so long, while still waiting (default: 0, never)"
    add("--again", type=at_least(0), default=0, metavar="T", help=says)
    says = "let this part of all messages get lost that do not carry the token (default: 0)"
    add("--loss", type=part, default=0.0, metavar="P", help=says)


def setup(options: Namespace) -> Setup:
    """Return what is simulated, or refuse an option that would change nothing."""
    for name in ("finding", "clean_up", "directed", "one_search", "one_by_one", "rest", "again", "loss"):
        if getattr(options, name) and options.protocol != "binary":
            said = f"`--{name.replace('_', '-')}` is about searches, and `{options.protocol}` has none"
            raise Misuse("P314", said)
    usual = Setup()
    return Setup(
        nodes=options.nodes,
        gap=options.gap,
        protocol=options.protocol,
        requests=options.requests,
        finding=options.finding or usual.finding,
        clean_up=options.clean_up or usual.clean_up,
        is_directed=options.directed,
        has_one_search=options.one_search,
        lends_one_by_one=options.one_by_one,
        max_rest=options.rest,
        again=options.again,
        loss=options.loss,
    )


run = simulate


def summary(results: Sequence[Outcome], options: Namespace) -> dict[str, Any]:
    """Return what all runs together came to."""
    seen = taken_together(list(results))
    moves = {why: count / seen.requests for why, count in sorted(seen.moves.items())}
    return {
        "responsiveness": {"mean": seen.responsiveness, "max": seen.max_responsiveness},
        "messages_per_request": seen.messages_per_request,
        "requests": seen.requests,
        "wait": {"mean": seen.wait, "max": seen.max_wait},
        "steps_per_grant": seen.steps_per_grant,
        "messages": {"search": seen.searches_per_request, **moves},
        "fairness": {"max_one_other": seen.max_one_other, "others_mean": seen.others, "max_others": seen.max_others},
        "log2_nodes": log2(options.nodes),
        "runs": len(results),
    }


def lines(summary: dict[str, Any], options: Namespace) -> Iterator[str]:
    """Put it into words."""
    wants = f"a request every {options.gap:g}" if options.gap else "everybody always wants it"
    yield f"{counted(options.nodes, 'node')}, {options.protocol}, {wants}, {counted(summary['requests'], 'request')}"
    yield f"{'':<16}{'mean':>9}{'max':>8}"
    for name in ("responsiveness", "wait"):
        of = summary[name]
        yield f"{name:<16}{of['mean']:>9.2f}{of['max']:>8,}"
    fairness = summary["fairness"]
    yield f"{'others meanwhile':<16}{fairness['others_mean']:>9.2f}{fairness['max_others']:>8,}"
    yield f"{'  any one':<16}{'':>9}{fairness['max_one_other']:>8,}"
    parts = ", ".join(f"{name} {count:.2f}" for name, count in summary["messages"].items())
    yield f"messages per request {summary['messages_per_request']:.2f}: {parts}"
    yield f"steps per grant {summary['steps_per_grant']:.3f}; log2 of the nodes {summary['log2_nodes']:.2f}"


def _gap(text: str) -> float:
    value = number(text)
    if not 0.0 <= value < float("inf"):
        raise ArgumentTypeError(f"must be a number of at least 0, not `{text}`")
    return value
