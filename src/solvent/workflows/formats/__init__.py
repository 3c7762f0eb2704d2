"""The formats in which a workflow can be written: each package reads one into the model, and most write it back.

`files` picks the format of a file by its suffix. `python` traces functions, `yaml` is our own layout in YAML and JSON,
`hoclflow` and `chws` are the notations of two papers, and `wfformat` holds the traces of WfCommons.
"""

__all__: list[str] = []
