"""Measures a shape of one size in a process of its own: `python -m bench.patterns.worker SHAPE SIZE` prints seconds."""

import sys
import time

from bench.patterns.shapes import runs, shape
from solvent.runs.embedded import run_workflow


def main(name: str, size: int) -> float:
    """Run a shape once to warm up, small, and once measured; the processor's time of this process counts."""
    run_workflow(shape(name, 10))
    workflow = shape(name, size)
    began = time.process_time()
    report = run_workflow(workflow)
    seconds = time.process_time() - began
    if not report.succeeded or report.calls.get("J") != runs(name, size):
        raise SystemExit(f"{name} of {size}: the last task ran {report.calls.get('J')} times; {report.stuck[:1]}")
    return seconds


if __name__ == "__main__":
    print(main(sys.argv[1], int(sys.argv[2])))
