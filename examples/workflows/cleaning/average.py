"""Read `[[station, temperature], ...]` as JSON from standard input and print the mean of each station."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from statistics import mean

found = defaultdict(list)
for station, temperature in json.load(sys.stdin):
    found[station].append(temperature)
for station, temperatures in sorted(found.items()):
    print(f"{station}: {mean(temperatures):.1f} °C")
