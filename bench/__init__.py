"""Benchmarks: Solvent beside Maude, SWI-Prolog CHR, CLIPS and a hand-written Python loop.

`python -m bench` runs eight programs on the same inputs in every system and checks that all of them leave the
same molecules; then it measures memory, many rules and start-up, and ends with the list of what Solvent must
reach.

Reading order: `records` (the neutral form of molecules), `problems` (inputs), `hand` (the loops), `systems/`
(one adapter each), `worker` (the measured child process), `cell` (its parent), `figures`, `verdicts`,
`report`; apart from these `memory`, `rules` and `startup`.
"""
