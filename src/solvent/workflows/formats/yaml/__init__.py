"""Workflow files in our layout, as YAML or JSON.

Reading order: tree (text to plain data with places), reader (plain data to the model), writer (the way back), schema.
"""

__all__: list[str] = []
