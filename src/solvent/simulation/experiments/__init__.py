"""The papers' own experiments, one package for each paper, run again with our machines."""

__all__: list[str] = []
