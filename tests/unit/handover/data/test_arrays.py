"""Arrays over mapped memory."""

from __future__ import annotations

import sys

import pytest

from solvent.errors import Misuse
from solvent.handover.data.arrays import array_of, form_of

numpy = pytest.importorskip("numpy")


def test_a_form_tells_type_and_shape() -> None:
    """Who gets the bytes next gets the same array, without being told anything else."""
    memory = bytearray(48)
    array = array_of(memoryview(memory), "", float, (3, 2))
    again = array_of(memoryview(memory), form_of(array), None, None)
    assert (again.dtype, again.shape) == (numpy.dtype(float), (3, 2))
    assert array_of(memoryview(memory), form_of(array), None, (2, 3)).shape == (2, 3)
    assert array_of(memoryview(bytearray(8)), form_of(numpy.zeros(())), None, None).shape == ()
    assert form_of(numpy.zeros(2, [("a", "i4"), ("b", "f8")])) == ""


@pytest.mark.parametrize(
    "form,dtype,shape",
    [("", None, None), ("text", None, None), ("", "nonsense", None), ("", object, None), ("", "f8", (7,))],
)
def test_what_is_no_array_is_refused(form: str, dtype: object, shape: object) -> None:
    """A type or shape that does not fit the bytes, or that nobody has told, is an error."""
    with pytest.raises(Misuse) as caught:
        array_of(memoryview(bytearray(48)), form, dtype, shape)
    assert caught.value.code == "D104"


def test_without_numpy_there_are_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but arrays needs NumPy, and who asks for one is told what to install."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(Misuse) as caught:
        array_of(memoryview(bytearray(8)), "", float, None)
    assert (caught.value.code, "solvent[arrays]" in caught.value.hint) == ("D105", True)
