"""Runs the measurements that are no table: memory, many rules, start-up; each in a process of its own."""

import json
import subprocess
import sys

from bench.verdicts import Verdict, at_most

NAMES = ("memory", "rules", "startup")
MAX_SECONDS = 600


def measure_extra(name: str, *, is_smallest: bool = False) -> dict[str, float] | str:
    """Run `bench.NAME`; give its figures, or what went wrong."""
    command = [sys.executable, "-m", f"bench.{name}", "--format", "json"]
    command += ["--smallest"] if is_smallest else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"more than {MAX_SECONDS} seconds"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return lines[-1] if lines else f"exit code {done.returncode}"
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def verdicts_on_extras(extras: dict[str, dict[str, float]]) -> list[Verdict]:
    """Judge memory, many rules and start-up."""
    memory = extras.get("memory", {})
    return [
        at_most("a million integers, memory each", memory.get("bytes_each"), 200, " bytes"),
        at_most("1,000 rules over 10, when ten can match", extras.get("rules", {}).get("ratio"), 2, " times"),
        at_most("`solvent run` over `import json`", extras.get("startup", {}).get("ratio"), 5, " times"),
    ]
