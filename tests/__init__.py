"""Solvent's tests; CONTRIBUTING.md says which folder a new one belongs in.

The folder is a package so that shared strategies and runners can be imported by full name.
"""
