"""Runs machines from a seed: in discrete steps, or on a clock over a network with faults.

`DiscreteRun` is the papers' model and the fast one: thousands of nodes, millions of messages. `TimedRun` has latency,
bandwidth, loss, duplication, reordering, partitions and crashes, looks at invariants after every event, and shows how
to see a failure again. `run_many` runs many seeds on all processors.

Reading order: environment, discrete; clock, network, world, history, timed; many. Beside them stands what one protocol
needs: capture; token_users and token; elmp; handover_network, handover_server and handover.
"""

from solvent_lab.simulator.discrete import DiscreteRun
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.many import Gathered, run_many
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun
from solvent_lab.simulator.world import InvariantBroken

__all__ = ["DiscreteRun", "Ending", "Environment", "Faults", "Gathered", "InvariantBroken", "TimedRun", "run_many"]
