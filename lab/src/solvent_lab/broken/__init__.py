"""Variants of the protocols with one known fault each, which the checker must catch.

One module per protocol. Each class overrides a part of a machine, says what is wrong in its docstring, and is added to
`BROKEN` with the small world in which the fault shows (`checker.registry.Variants`).
"""

__all__: list[str] = []
