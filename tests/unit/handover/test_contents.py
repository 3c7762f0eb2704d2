"""What is handed over, as it is said."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from solvent.errors import Misuse
from solvent.handover.contents import NOTHING, contents_from, seconds_from, shape_of_part, with_copies
from solvent.handover.data.arrays import resized_form, told_by
from solvent.handover.data.card import Sheet

if TYPE_CHECKING:
    from pathlib import Path


def _read(**given: Any) -> Any:
    return contents_from(**({"size": None, "initial": None, "array": None, "file": None} | given))


def test_arrays_are_said_by_shape_and_type_or_by_one() -> None:
    """Both say how many bytes there are, and how others are to see them."""
    given = _read(array=((3, 4), "f8"))
    assert (given.size, given.shape, given.form) == (96, (3, 4), "numpy <f8 3,4")
    array = np.arange(6, dtype="i4").reshape(2, 3).T
    given = _read(initial=array)
    assert (given.size, given.shape, given.form) == (24, (3, 2), "numpy <i4 3,2")
    assert bytes(given.initial) == array.tobytes()
    assert _read(array=(5, np.uint8)).shape == (5,)
    assert _read(array=((np.int64(3), 2), float)).shape == (3, 2)
    assert _read(array=(np.int32(3), float)).size == _read(size=np.int64(24)).size == 24


def test_entries_that_have_a_shape_add_it_to_that_of_the_array() -> None:
    """As NumPy does it: three pairs are an array of three times two."""
    given = _read(array=((3,), np.dtype(("f8", (2,)))))
    assert (given.size, given.shape, given.form) == (48, (3, 2), "numpy <f8 3,2")


@pytest.mark.parametrize("array", [np.array(["2020-01-01", "1970-01-01"], "M8[s]"), np.array(5, "m8[ms]")])
def test_dates_and_spans_of_time_are_handed_over_like_numbers(array: Any) -> None:
    """Python's own buffers do not know them, NumPy does."""
    given = _read(initial=array)
    assert (bytes(given.initial), given.shape, given.dtype) == (array.tobytes(), array.shape, array.dtype)


@pytest.mark.parametrize(
    "given, seconds", [(None, None), (10**400, None), (float("inf"), None), (-(10**400), 0.0), (2, 2.0)]
)
def test_more_seconds_than_there_are_numbers_are_for_ever(given: Any, seconds: float | None) -> None:
    """However large a number is, it is a time to wait."""
    assert seconds_from(given) == seconds


@pytest.mark.parametrize(
    "given, code",
    [
        ({"size": -1}, "S102"),
        ({"file": "a\0b"}, "S102"),
        ({"file": "\udc80", "size": 3}, "S102"),
        ({"array": ((3,), {"names": ["a"], "formats": []})}, "D104"),
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


@pytest.mark.parametrize(
    "made, said, is_same",
    [
        ({"array": ((4,), float)}, {"array": ((4,), "i8")}, False),
        ({"array": ((4, 2), float)}, {"array": ((2, 4), float)}, False),
        ({"array": ((4,), float)}, {"array": ((4,), [("a", "f8")])}, False),
        ({"array": ((4,), float)}, {"initial": np.zeros(4)}, True),
        ({"array": ((4,), float)}, {"size": 32}, True),
        ({"array": ((4,), float)}, {}, True),
        ({"size": 32}, {"array": ((4,), float)}, True),
        ({"size": 32}, {"initial": b"abc"}, False),
        ({"size": 32}, {"size": 31}, False),
        ({"size": 32}, {"file": "some/where"}, False),
        ({"file": "some/where", "size": 9}, {"file": "some/where"}, True),
        ({"file": "some/where", "size": 9}, {"file": "some/where", "size": 10}, False),
        ({"file": "some/where", "size": 9}, {"file": "else/where"}, False),
    ],
)
def test_who_says_something_else_than_there_is_is_told(
    made: dict[str, Any], said: dict[str, Any], *, is_same: bool
) -> None:
    """Type, shape, size and file are those of who made it, and who says others gets an error."""
    first = _read(**made)
    sheet = Sheet("m", 1, first.size, (), form=first.form, path=str(first.path or ""))
    with nullcontext() if is_same else pytest.raises(Misuse) as caught:
        _read(**said).check(sheet)
    assert is_same or (caught.value.code, "was said" in caught.value.message) == ("S105", True)


def test_a_change_of_the_size_changes_the_rows_and_nothing_else() -> None:
    """What was said of the size counts no longer then; the type and the length of rows do."""
    form = resized_form("numpy <f8 3,4", 64)
    assert (told_by(form), told_by(resized_form(form, 65))) == (("<f8", (2, 4)), None)
    sheet = Sheet("m", 1, 64, (), form=form)
    _read(array=((3, 4), float)).check(sheet)
    _read(size=96).check(sheet)
    for shape, kind in (((3, 5), "f8"), ((3, 4), "i8")):
        with pytest.raises(Misuse):
            _read(array=(shape, kind)).check(sheet)


def test_a_part_of_an_array_has_rows_or_entries() -> None:
    """A part that is some rows is seen as rows, and one that is not as entries."""
    assert shape_of_part((10, 4), 8, 64, 96) == (3, 4)
    assert shape_of_part((10, 4), 8, 8, 16) == (2,)
    with pytest.raises(Misuse) as caught:
        shape_of_part((10, 4), 8, 4, 16)
    assert caught.value.code == "S102"


@pytest.mark.parametrize("given", [1, 0, None, "no"])
def test_whether_the_last_version_is_kept_is_yes_or_no(given: object) -> None:
    """What is neither is refused before anybody shares it."""
    with pytest.raises(Misuse) as caught:
        with_copies(NOTHING, 1, keep_last=given)
    assert (caught.value.code, "True or False" in caught.value.hint) == ("S102", True)


def test_versions_are_on_two_hosts_unless_something_else_is_said(tmp_path: Path) -> None:
    """A file, and data whose last version is not kept, is on one."""
    own = tmp_path / "own.bin"
    assert with_copies(_read(size=8), None, keep_last=True).copies == 2
    assert with_copies(_read(size=8), 1, keep_last=True).copies == 1
    assert with_copies(_read(size=8), None, keep_last=False).copies == 1
    assert with_copies(_read(file=own), None, keep_last=True).copies == 1
