"""Runs machines under a seeded clock and a network with faults."""
