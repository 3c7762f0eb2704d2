"""Kinds of molecules."""

from __future__ import annotations

from solvent.lang.kinds import KINDS


def test_every_kind_of_the_language_is_known() -> None:
    """The kinds of the language, and the spellings of the 2009 programs, are known."""
    spec = "int float double number string String bool boolean symbol tuple list solution rule Integer Boolean"
    assert set(spec.split()) <= KINDS.keys()


def test_bool_is_no_int() -> None:
    """A boolean is of its own kind, and an object; it is no number."""
    assert [kind for kind, types in KINDS.items() if bool in types] == ["bool", "boolean", "Boolean", "Object"]
