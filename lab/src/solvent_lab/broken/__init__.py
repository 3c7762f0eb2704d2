"""Variants of the protocols with one known fault each, which the checker must catch.

One module per protocol. Each variant replaces a function of the protocol, says what is wrong in its docstring, and is
added to `BROKEN` with the small world in which the fault shows (`checker.registry.Variants`). Where a protocol is still
a class, a variant is a class that overrides a part of it.
"""

__all__: list[str] = []
