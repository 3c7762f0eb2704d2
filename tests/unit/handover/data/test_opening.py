"""Too many open files, and other reasons why one cannot be opened."""

from __future__ import annotations

import errno
import os

import pytest

from solvent.errors import Misuse
from solvent.handover.data.opening import opening


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_too_many_files_are_an_error_with_a_code(number: int) -> None:
    """Whoever has too many resources at a time is told so."""
    with pytest.raises(Misuse) as caught, opening():
        raise OSError(number, os.strerror(number))
    assert (caught.value.code, "ulimit" in caught.value.hint) == ("D107", True)


def test_other_errors_stay_what_they_are() -> None:
    """A file that is not there is told apart from one that cannot be opened."""
    with pytest.raises(FileNotFoundError), opening():
        os.open("/not/there", os.O_RDONLY)
