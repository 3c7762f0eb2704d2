"""The engine: rules compiled to Python, solutions run to inertia.

Reading order. What a solution is to the engine: `index`. How a rule is compiled: `plan`, `expressions`, `names`,
`code`, `pattern_tests`, `onward`, `reuse`, `builder`, `matcher`, `support`, `compile`, `visit`; `sweep` and
`sweep_code` for whole rows at once. How a solution runs: `batches`, `reaction`, `reactor`; `failure` says what went
wrong. Other strategies: `choice` (random); `interned`, `desk`, `successors` and `explore` (every order), `properties`
(what must hold in all of them), `replay` (a reaction of an exploration, recorded), `state_graph` (as a picture);
`matches` (what could react, for whoever must ask others first). What happened and why: `trace`, `explain`,
`tree_match`, `misfit`.
"""

from solvent.engine.reaction import Flight, Reaction, Stopped
from solvent.engine.reactor import Reactor

__all__ = ["Flight", "Reaction", "Reactor", "Stopped"]
