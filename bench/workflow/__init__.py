"""Workflow benchmarks: Solvent beside Parsl, Dask distributed, Ray and a bare loop over a pool.

`python -m bench.workflow` runs the same graphs of no-op tasks in every system that is installed and checks every
result against a plain evaluation; then it measures memory, the way from a failure to the alternative's result and
100,000 tasks, and ends with the list of what Solvent must reach.

What is timed begins with the submission of the first task (for Solvent: with making the first `Task`) and ends when
the caller has all results. Starting a system is not timed, and a small graph is run before the first measurement.

Reading order: `graphs` (the shapes), `functions` (what tasks call), `systems/` (one adapter each), `worker` (the
measured child process), `cell` (its parent) with `processes`, `figures`, `verdicts`, `report`.
"""
