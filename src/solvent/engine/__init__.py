"""The engine: rules compiled to Python, solutions run to inertia."""

from solvent.engine.reactor import Flight, Reaction, Reactor, Stopped

__all__ = ["Flight", "Reaction", "Reactor", "Stopped"]
