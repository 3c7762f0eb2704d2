"""Workflows written in Python: functions whose calls build the model while they are traced.

Reading order: `builder`, `collectors`, `control_flow`, `callables`, `declarations`, `files`, `import_guard`.
"""

__all__: list[str] = []
