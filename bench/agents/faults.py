"""The fault table: `make faults` does each fault several times to real processes, and counts what came of it.

    python -m bench.agents.faults [--times 5] [--seed 1] [--only NAME] [--features 300]

*survived*: the run ended with the results of an embedded run. *lost*: the others. *finished, called again*: calls that
were begun though their answer was in a journal. *out, made again*: calls that were out when their agent died, was
stopped or was cut off; they are marked as repeated. *to progress*: from a kill to the next call for the shards of the
dead agent that had calls out, in units of the lease.

With `--features N` the kill matrix follows: workflows of all features, of which the agents are killed, N over SQLite
and two thirds of that over NATS, and single processes, which are killed and continued, a third of it. For each feature:
how often its workflow ran, how many were killed meanwhile, and how often anything was wrong. A seed repeats a case.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

# The modules of faults ask for it.
os.environ.setdefault("SOLVENT_TEST_AGENTS", "3")
# The shortest lease that is promised: what does not depend on it, such as starting a process, weighs most there.
os.environ.setdefault("SOLVENT_TEST_TTL", "2")

from bench.options import read_options
from tests.live import agents_damage, agents_faults, agents_networks
from tests.live.agents_faults import Outcome
from tests.live.feature_flows import ROWS
from tests.live.feature_kills import matrix
from tests.live.store_servers import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.live.feature_flows import Row

    Fault = Callable[[str, int], Outcome]

ON_BOTH: dict[str, Fault] = {
    "launcher killed": agents_faults.launcher_killed,
    "an agent killed": agents_faults.agent_killed,
    "each agent killed in turn": agents_faults.each_agent_killed,
    "agents killed at random": agents_faults.killed_again_and_again,
    "all agents killed, others started": agents_faults.all_agents_killed,
    "agent stopped, goes on": agents_faults.agent_stopped,
    "dies between journal and letters": agents_faults.dies_halfway,
    "clocks jump by hours": agents_faults.clocks_jump,
    "busy machine, lease of 2 s": agents_faults.busy_machine,
}
ON_FILES: dict[str, Fault] = {
    "disk full": agents_damage.disk_full,
    "torn last write": agents_damage.torn_write,
    "file cut anywhere": agents_damage.cut_file,
}
ON_SERVERS: dict[str, Fault] = {
    "server killed, started again": agents_networks.server_killed,
    "agent cut off": agents_networks.agent_cut_off,
    "agent and server unheard": agents_networks.agent_unheard,
    "one of three servers killed": agents_networks.node_killed,
    "leader of three killed": agents_networks.leader_killed,
    "host cut off, another's agent killed": agents_networks.host_cut_off,
}
HEAD = ("fault", "store", "tried", "survived", "lost", "kills", "finished, called again", "out, made again",
        "to progress: median", "max")  # fmt: skip


def rows(times: int, first: int, only: str, at: str = "") -> Iterator[tuple[str, ...]]:
    """Try all, and give the rows of the table as they are known."""
    for store, faults in (("SQLite", ON_BOTH | ON_FILES), ("NATS", ON_BOTH), ("NATS", ON_SERVERS)):
        for name, fault in faults.items():
            if only in name and at in store:
                yield _row(name, store, fault, range(first, first + times), is_served=faults is not ON_SERVERS)


def _row(name: str, store: str, fault: Fault, seeds: range, *, is_served: bool) -> tuple[str, ...]:
    outcomes = list[Outcome]()
    for seed in seeds:
        began = time.monotonic()
        one = _tried(fault, seed, store if is_served else "")
        if one is None:
            return (name, store, "0", "", "", "", "", "", "not possible here", "")
        outcomes.append(one)
        said = f"{name} ({store}), seed {seed}: {time.monotonic() - began:.1f} s"
        print(said, *one.wrong[:3], sep="; ", file=sys.stderr, flush=True)
    leases = [part for one in outcomes for part in one.leases]
    wrong = sum(bool(one.wrong) for one in outcomes)
    return (
        name,
        store,
        str(len(outcomes)),
        str(len(outcomes) - wrong),
        str(wrong),
        str(sum(one.kills for one in outcomes)),
        str(sum("has an answer" in text for one in outcomes for text in one.wrong)),
        str(sum(one.again for one in outcomes)),
        f"{statistics.median(leases):.2f}" if leases else "",
        f"{max(leases):.2f}" if leases else "",
    )


def _tried(fault: Fault, seed: int, store: str) -> Outcome | None:
    """Try a fault once; give nothing where the system does not let it be done."""
    try:
        if fault is agents_networks.host_cut_off and not agents_networks.can_make_hosts():
            return None
        if store != "NATS":
            return fault("", seed)
        with served() as url:
            return fault(url, seed)
    except AssertionError as error:
        return agents_faults.Outcome([str(error).splitlines()[0] if str(error) else "it went wrong"])
    except OSError:
        return None


def main() -> int:
    """Print the table; the exit code tells whether anything was lost."""
    parser = argparse.ArgumentParser(description="Do faults to agents, and count what came of it.")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults with this in their names")
    parser.add_argument("--store", choices=("SQLite", "NATS"), default="", help="only on this one")
    parser.add_argument("--features", type=int, default=300, help="how many to kill in the matrix of features")
    given = read_options(parser, times=1, only="an agent killed", store="SQLite", features=2)
    widths = [max(map(len, (*ON_BOTH, *ON_FILES, *ON_SERVERS))), 6, *map(len, HEAD[2:])]
    lost = False
    for row in chain([HEAD], rows(given.times, given.seed, given.only, given.store)):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip(), flush=True)
        lost = lost or row[4] not in {"0", "", HEAD[4]} or (given.smallest and row[2] == "0")
    return int(lost or _matrix_is_wrong(given.features, given.seed, given.store, rows=ROWS[:: 8 * given.smallest or 1]))


def _matrix_is_wrong(kills: int, seed: int, only: str, *, rows: tuple[Row, ...]) -> bool:
    """Print the kill matrix of features; return whether anything in it is wrong."""
    is_wrong = False
    for store, share in (("SQLite", kills), ("NATS", kills * 2 // 3), ("embedded", kills // 3)):
        if share and only in store:
            found = matrix(store, share, seed, partial(print, file=sys.stderr, flush=True), rows=rows)
            print(f"\n{store}", found.table(), sep="\n", flush=True)
            is_wrong = is_wrong or bool(found.wrong)
    return is_wrong


if __name__ == "__main__":
    sys.exit(main())
