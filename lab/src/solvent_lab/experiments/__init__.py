"""The papers' own experiments, one package for each paper, run again with our machines.

Reading order: figure, claims, reproduction; then the package of a paper, whose `EXPERIMENTS` describes them.
"""

__all__: list[str] = []
