"""The papers' own experiments, one package for each paper, run again with our machines.

Reading order: figure, plot, reproduction; then the package of a paper.
"""

__all__: list[str] = []
