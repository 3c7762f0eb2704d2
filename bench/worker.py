"""The measured child process: one system, one problem, one size.

It prints JSON lines: `{"ready": true}` when everything is loaded, `{"seconds": …, "digest": …}` after the
first run, and one `{"seconds": …}` for each repetition; quick runs are repeated, slow ones are not.

    python -m bench.worker SYSTEM PROBLEM SIZE ORDER REPEATS
"""

import json
import resource
import sys

from bench.problems import PROBLEMS, Order
from bench.records import canonical, digest
from bench.systems import SYSTEMS, Trial

MAX_MEMORY_BYTES = 8 << 30
REPEAT_BELOW_SECONDS = 5.0
ENOUGH_SECONDS = 0.5
MIN_REPEATS = 3


def say(**message: object) -> None:
    """Print one line for the parent, at once."""
    print(json.dumps(message), flush=True)


def repeat(trial: Trial, first_seconds: float) -> None:
    """Run again until there are enough runs and enough time is measured."""
    total, count = first_seconds, 1
    if first_seconds >= REPEAT_BELOW_SECONDS:
        return
    while count < trial.max_repeats and (count < MIN_REPEATS or total < ENOUGH_SECONDS):
        trial.prepare()
        seconds = trial.run()
        say(seconds=seconds)
        total += seconds
        count += 1


def main(system: str, problem_name: str, size: str, order: str, repeats: str) -> None:
    """Measure one cell of the table."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    problem = PROBLEMS[problem_name]
    records = problem.records(int(size), Order(order))
    trial = SYSTEMS[system].trial(problem, records)
    trial.prepare()
    say(ready=True)
    seconds = trial.run()
    final = trial.final()
    say(
        seconds=seconds,
        digest=digest(final),
        count=len(final),
        sample=[list(part) for part in canonical(final)[:5]],
    )
    if int(repeats):
        repeat(trial, seconds)
    say(end=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
