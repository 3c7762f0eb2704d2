"""Workflows: one model, the ways to write it, and its translation into molecules and rules."""
