"""One machine, three hosts: `python examples/protocols/turns check`, `simulate` or `serve`, perhaps `--broken`."""

import argparse
import importlib
import sys

HOSTS = {"check": "checking", "simulate": "simulating", "serve": "serving"}

parser = argparse.ArgumentParser(prog="turns", description=__doc__)
parser.add_argument("host", choices=HOSTS)
parser.add_argument("--broken", action="store_true", help="take the machine that passes the token on too early")
parser.add_argument("--seed", type=int, default=0, metavar="N", help="simulate from this seed on (default: 0)")
options = parser.parse_args()
sys.exit(importlib.import_module(HOSTS[options.host]).main(is_broken=options.broken, seed=options.seed))
