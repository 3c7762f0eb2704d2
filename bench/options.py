"""The option that every benchmark has: `--smallest` runs all of it at its smallest size, to see that it works."""

import argparse
from typing import Any


def read_options(parser: argparse.ArgumentParser, **smallest: Any) -> argparse.Namespace:
    """Read the command line; with `--smallest` the given values replace those of the options of the same name."""
    parser.add_argument("--smallest", action="store_true", help="the smallest size, once: a check, not a measurement")
    options = parser.parse_args()
    if options.smallest:
        vars(options).update(smallest)
    return options
