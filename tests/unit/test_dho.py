"""Data handover by the names of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import solvent
from solvent.dho import dho_create, dho_destroy, dho_ew_acquire, dho_ew_release, dho_ew_request, dho_test

if TYPE_CHECKING:
    from pathlib import Path


def test_the_cycle_of_the_paper(tmp_path: Path) -> None:
    """Request, test, acquire, release: each as the paper's benchmark calls it."""
    with solvent.shared.join("paper", folder=tmp_path) as space:
        a = dho_create(space, "matrix", size=4)
        assert dho_test(a) == "valid"
        dho_ew_request(a)
        assert dho_test(a) == "grant"
        view = dho_ew_acquire(a)
        assert view is not None
        view[0] = 7
        assert dho_test(a) == "locked"
        dho_ew_release(a)
        assert dho_test(a) == "valid"
        dho_destroy(a)
        assert dho_test(a) == "invalid"


def test_calls_out_of_order(tmp_path: Path) -> None:
    """A second request drops the first, what is not held is not released, and what is destroyed ignores everything."""
    with solvent.shared.join("paper", folder=tmp_path) as space:
        a = dho_create(space, "matrix", size=4)
        dho_ew_request(a)
        dho_ew_request(a)
        dho_ew_release(a)
        dho_ew_release(a)
        assert dho_test(a) == "grant"
        dho_create(a)
        assert dho_test(a) == "valid"
        dho_destroy(a)
        dho_ew_request(a)
        assert (dho_ew_acquire(a), dho_test(a)) == (None, "invalid")
        dho_ew_release(a)
        dho_destroy(a)
        assert dho_ew_acquire(dho_create(a)) is not None


def test_a_resource_needs_a_name(tmp_path: Path) -> None:
    """A handle is of something."""
    with solvent.shared.join("paper", folder=tmp_path) as space, pytest.raises(solvent.Misuse) as caught:
        dho_create(space)  # type: ignore[call-overload]
    assert caught.value.code == "S102"
