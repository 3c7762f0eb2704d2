"""Variants of the protocols with one known fault each, which the checker must catch."""

__all__: list[str] = []
