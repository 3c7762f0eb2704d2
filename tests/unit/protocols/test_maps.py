"""Mappings that never change."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.maps import Map

KEYS = st.integers(0, 300)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS, st.integers(0, 3)),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("update"), st.dictionaries(KEYS, st.integers(0, 3), max_size=200)),
        st.tuples(st.just("without"), st.sets(KEYS)),
    ),
    max_size=12,
)


def changed(known: dict[int, int], change: tuple[Any, ...]) -> dict[int, int]:
    """Make a change in a copy of a `dict`."""
    match change:
        case "set", key, item:
            return {**known, key: item}
        case "update", more:
            return {**known, **more}
        case "delete", key:
            gone = {key}
        case _, gone:
            pass
    if not gone <= set(known):
        raise KeyError
    return {key: item for key, item in known.items() if key not in gone}


@given(st.dictionaries(KEYS, st.integers(0, 3), max_size=200), CHANGES)
def test_a_map_is_changed_as_a_dict_is_and_stays_what_it_was(known: dict[int, int], changes: list[Any]) -> None:
    """Each change gives what a copy of a dict gives, and the map that was changed is the same as before."""
    one = Map(known)
    for change in changes:
        before, was = one, dict(known)
        try:
            known = changed(known, change)
        except KeyError:
            with pytest.raises(KeyError):
                getattr(one, change[0])(*change[1:])
            continue
        one = getattr(one, change[0])(*change[1:])
        assert dict(before) == was
        assert (dict(one), len(one), set(one)) == (known, len(known), set(known))
        assert all(one[key] == item and one.get(key) == item and key in one for key, item in known.items())
        assert (one.get(-1), one.get(-1, 5), -1 in one, bool(one)) == (None, 5, False, bool(known))
        assert one == Map(known)
        assert hash(one) == hash(Map(known))


def test_maps_of_different_entries_are_different() -> None:
    """A map is equal to a map of the same entries only."""
    assert [Map({1: 2}) == other for other in (Map({1: 2}), Map({1: 3}), Map(), {1: 2})] == [True, False, False, False]


def test_a_map_shows_its_entries() -> None:
    """The text of a map names its entries."""
    assert repr(Map({"a": 1})) == "Map({'a': 1})"


_DUMP = """
import pickle, sys
from solvent.protocols.maps import Map
sys.stdout.buffer.write(pickle.dumps(Map((str(number), number) for number in range(1000))))
"""


def test_a_map_is_the_same_in_another_process() -> None:
    """A map that comes from a process with other hashes of strings is found to have its entries."""
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    made = subprocess.run([sys.executable, "-c", _DUMP], env=environment, check=True, stdout=subprocess.PIPE).stdout
    found = pickle.loads(made)  # noqa: S301
    assert [found.get(str(number)) for number in range(1000)] == list(range(1000))
    assert found == Map((str(number), number) for number in range(1000))
