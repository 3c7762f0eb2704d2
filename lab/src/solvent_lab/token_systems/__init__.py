"""The six rewriting systems of the token paper, from the specification to the protocol.

Each is a program beside this file, rule for rule as in figures 2 to 7, with a small first state of its own: s, s1,
token, message_passing (ring is its variant with rule 3'), search, binary_search. `printed` holds them as the figures
print them, flaws and all; `mapping` for each the rules that turn one of its states into one of the system it refines;
`never` the rules that describe what must never be. `programs` gives them all for any number of nodes.
"""

from solvent_lab.token_systems.programs import SYSTEMS, Bounds, System, first_state, mapping, never, program

__all__ = ["SYSTEMS", "Bounds", "System", "first_state", "mapping", "never", "program"]
