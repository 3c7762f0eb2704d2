"""Protocols as their papers publish them, with the repairs without which they would not run."""

__all__: list[str] = []
