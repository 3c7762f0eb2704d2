"""What a wrong text is told: the shape in which the tests of this folder compare errors."""

from __future__ import annotations

import pytest

import solvent


def complaint(text: str) -> tuple[str, str, str]:
    """Give the code, the line and column, and the hint of the error that a text gets."""
    error = error_of(text)
    return error.code, error.place.removeprefix("<text>:"), error.hint


def error_of(text: str) -> solvent.SolventError:
    """Give the error that a text gets; showing it must work."""
    with pytest.raises(solvent.SolventError) as caught:
        solvent.hocl.parse(text).solution()
    assert caught.value.show().startswith(f"error[{caught.value.code}]: ")
    return caught.value
