"""What is handed over, as it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from solvent.errors import Misuse
from solvent.running.spaces.contents import contents_from, shape_of_part

if TYPE_CHECKING:
    from pathlib import Path


def _read(**given: Any) -> Any:
    return contents_from(**({"size": None, "initial": None, "array": None, "file": None} | given))


def test_bytes_are_said_by_size_or_by_what_they_are() -> None:
    """A size makes zeros, and initial bytes have their own size."""
    assert (_read(size=10).size, _read(size=10).initial) == (10, None)
    given = _read(initial=b"abc")
    assert (given.size, bytes(given.initial), given.form) == (3, b"abc", "")
    assert (_read(initial=b"").size, bytes(_read(initial=b"").initial)) == (0, b"")


def test_arrays_are_said_by_shape_and_type_or_by_one() -> None:
    """Both say how many bytes there are, and how others are to see them."""
    given = _read(array=((3, 4), "f8"))
    assert (given.size, given.shape, given.form) == (96, (3, 4), "numpy <f8 3,4")
    array = np.arange(6, dtype="i4").reshape(2, 3).T
    given = _read(initial=array)
    assert (given.size, given.shape, given.form) == (24, (3, 2), "numpy <i4 3,2")
    assert bytes(given.initial) == array.tobytes()
    assert _read(array=(5, np.uint8)).shape == (5,)


def test_a_file_need_not_say_its_size(tmp_path: Path) -> None:
    """The data of a file is what is in it."""
    given = _read(file=tmp_path / "x")
    assert (given.path, given.size, given.can_make) == (tmp_path / "x", None, True)


def test_nothing_said_makes_nothing() -> None:
    """Without a word about data a handle makes none."""
    assert not _read().can_make


@pytest.mark.parametrize(
    "given, code",
    [
        ({"size": -1}, "S102"),
        ({"size": True}, "S102"),
        ({"size": 4, "initial": b"abc"}, "S102"),
        ({"initial": b"abc", "array": (3, "f8")}, "S102"),
        ({"initial": "text"}, "S102"),
        ({"initial": memoryview(b"abcdef")[::2]}, "S102"),
        ({"array": "f8"}, "S102"),
        ({"array": ((-1,), "f8")}, "S102"),
        ({"array": ((1,), "no such type")}, "D104"),
        ({"array": ((1,), object)}, "D104"),
        ({"initial": np.array([None])}, "D104"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], code: str) -> None:
    """Data that cannot be handed over, or is said twice, is refused at once."""
    with pytest.raises(Misuse) as caught:
        _read(**given)
    assert caught.value.code == code


def test_a_part_of_an_array_has_rows_or_entries() -> None:
    """A part that is some rows is seen as rows, and one that is not as entries."""
    assert shape_of_part((10, 4), 8, 64, 96) == (3, 4)
    assert shape_of_part((10, 4), 8, 8, 16) == (2,)
    with pytest.raises(Misuse) as caught:
        shape_of_part((10, 4), 8, 4, 16)
    assert caught.value.code == "S102"
