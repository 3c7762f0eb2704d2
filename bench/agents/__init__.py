"""Benchmarks of agents around a space."""
