"""Films of recorded runs: every molecule with when it came and when it went, so that any moment can be shown at once.

A run is replayed once, in a process of its own, and what is seen goes into a file. From then on nobody needs the run's
molecules in memory: what is in a solution after so many reactions is a question to the file, and so is why.

Reading order: `sheet` (the file), `film` (what watches the reactions), `maker` (the process that makes a film),
`viewer` (what people ask of one).
"""

from solvent.runs.replay_index.viewer import Viewer

__all__ = ["Viewer"]
