"""The language: text to tree to solution.

Reading order: lexer, patterns, parser, scope, lower; nearest helps with hints, layout formats. For editors: recovery
reads what is wrong, occurrences tells what names mean, manual what words mean.
"""

from solvent.hocl.lower import lower_molecules, lower_program
from solvent.hocl.parser import parse_molecules, parse_program
from solvent.hocl.scope import resolve, resolve_molecules

__all__ = ["lower_molecules", "lower_program", "parse_molecules", "parse_program", "resolve", "resolve_molecules"]
