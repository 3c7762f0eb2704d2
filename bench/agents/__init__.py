"""Benchmarks of agents around a store."""
