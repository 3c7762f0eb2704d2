"""Workflow files in our layout, as YAML or JSON.

Reading order: `tree` (text to plain data with places), `reader` (plain data to the model), `writer` (the way back). The
schema of these files, for editors, is `docs/reference/workflow.schema.json`.
"""

__all__: list[str] = []
