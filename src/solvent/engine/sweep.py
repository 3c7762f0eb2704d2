"""Placeholder."""

def sweep(reactor, solution, store, others):
    return others
