"""Drafts: which pages were changed, and what of them is seen by others."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.handover.data.memory import Asking, Draft, can_draft

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = mmap.PAGESIZE
PAGES = 40

pytestmark = pytest.mark.skipif(not can_draft(), reason="this system does not tell which pages were changed")


@pytest.fixture(name="file", scope="module")
def _file() -> Iterator[int]:
    file = os.memfd_create("test")
    os.truncate(file, PAGES * PAGE)
    yield file
    os.close(file)


@pytest.mark.parametrize("way", ["scanned", "looked_up"])
@given(written=st.sets(st.integers(0, PAGES - 1)), read=st.sets(st.integers(0, PAGES - 1)), data=st.data())
def test_what_was_written_is_found_and_what_was_read_is_not(
    file: int, way: str, written: set[int], read: set[int], data: st.DataObject
) -> None:
    """Both ways to ask name the pages that were written, and no others."""
    draft = Draft(file, 0, PAGES * PAGE)
    try:
        getattr(draft._asking, way)()
    except OSError:
        pytest.skip("this system does not have this way")
    for page in read:
        assert draft.view(page * PAGE, (page + 1) * PAGE)[0] == 0
    for page in written:
        draft.view(page * PAGE, (page + 1) * PAGE)[data.draw(st.integers(0, PAGE - 1))] = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Asking, "own_pages", getattr(Asking, way))
        runs = draft.changed(PAGES * PAGE)
    assert {page for first, last in runs for page in range(first // PAGE, last // PAGE)} == written
    assert os.pread(file, PAGES * PAGE, 0) == bytes(PAGES * PAGE)
    draft.forget()
    assert draft.changed(PAGES * PAGE) == []
    draft.close()


def test_more_runs_than_one_call_gives_are_found() -> None:
    """Every second page of many: the kernel is asked as often as it takes."""
    pages = 2 * 1500
    file = os.memfd_create("test")
    os.truncate(file, pages * PAGE)
    draft = Draft(file, 0, pages * PAGE)
    with draft.view(0, pages * PAGE) as view:
        for page in range(0, pages, 2):
            view[page * PAGE] = 1
    assert draft.changed(pages * PAGE) == [(page * PAGE, (page + 1) * PAGE) for page in range(0, pages, 2)]
    draft.close()
    os.close(file)


def test_a_stretch_is_cut_at_its_ends(file: int) -> None:
    """A stretch may begin and end in the middle of pages, and knows of nothing outside."""
    draft = Draft(file, PAGE + 100, 3 * PAGE + 7)
    with draft.view(PAGE + 100, 3 * PAGE + 7) as view:
        assert len(view) == 2 * PAGE - 93
        view[0] = view[-1] = 1
    assert draft.changed(3 * PAGE + 7) == [(PAGE + 100, 2 * PAGE), (3 * PAGE, 3 * PAGE + 7)]
    assert draft.changed(3 * PAGE) == [(PAGE + 100, 2 * PAGE)]
    draft.close()


def test_a_copy_of_a_process_asks_about_its_own_pages(file: int) -> None:
    """After a fork, the child's drafts are told apart from those of its parent."""
    draft = Draft(file, 0, PAGES * PAGE)
    draft.view(0, 1)[0] = 1
    assert draft.changed(PAGES * PAGE) == [(0, PAGE)]
    child = os.fork()
    if not child:
        mine = Draft(file, 0, PAGES * PAGE)
        mine.view(3 * PAGE, 4 * PAGE)[0] = 1
        os._exit(mine.changed(PAGES * PAGE) != [(3 * PAGE, 4 * PAGE)])
    assert os.waitpid(child, 0)[1] == 0
    assert draft.changed(PAGES * PAGE) == [(0, PAGE)]


def test_a_system_that_tells_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the question is not answered, or wrongly, no drafts are made."""

    def refuse(_: Asking) -> list[tuple[int, int]]:
        raise PermissionError

    for answer in (refuse, lambda *_: []):
        monkeypatch.setattr(Asking, "own_pages", answer)
        assert not can_draft.__wrapped__()
