"""Where a process of a space is, as people write it."""

from __future__ import annotations

from typing import Any

import pytest

import solvent
from solvent.errors import SolventError
from solvent.handover.place import place_from


def _read(name: Any = "run", **given: Any) -> Any:
    usual = {"join": None, "listen": None, "address": None, "secret": "s", "patience": 5, "folder": None, "keep": False}
    return place_from(name, **usual | given)


def test_addresses_are_texts_or_pairs() -> None:
    """One contact or several, as text or as host and port."""
    assert _read(join="10.0.0.1:7").contacts == (("10.0.0.1", 7),)
    assert _read(join=("10.0.0.1", 7)).contacts == (("10.0.0.1", 7),)
    assert _read(join=["a:1", "b:2"]).contacts == (("a", 1), ("b", 2))
    assert _read(listen="10.0.0.2:0", secret="".join("geheim")).secret == b"geheim"


def test_the_secret_is_not_shown() -> None:
    """What is printed may end up in a log."""
    assert "geheim" not in repr(_read(secret=b"geheim"))


def test_beyond_this_machine_no_secret_must_be_said() -> None:
    """`secret=False` is the word that anybody may join; on this machine the secret of the user is the usual one."""
    assert _read(join="10.0.0.1:7", secret=False).secret == b""
    assert _read(join=["localhost:7", "[::1]:7", "127.0.1.1:7"], secret=None).secret == _read(secret=None).secret != b""


@pytest.mark.parametrize(
    "given, code",
    [
        ({"name": ""}, "S101"),
        ({"name": 7}, "S101"),
        ({"patience": 0}, "S101"),
        ({"patience": "long"}, "S101"),
        ({"name": "\ud800"}, "S101"),
        ({"secret": 5}, "S101"),
        ({"secret": ""}, "S101"),
        ({"secret": b""}, "S101"),
        ({"secret": None, "listen": "10.0.0.2:0"}, "S210"),
        ({"secret": None, "join": "10.0.0.2:7000"}, "S210"),
        ({"secret": None, "join": ["127.0.0.1:7000", "example.org:7000"]}, "S210"),
        ({"secret": None, "listen": "127.0.0.1:7000", "address": "example.org"}, "S210"),
        ({"secret": "\ud800"}, "S101"),
        ({"folder": 5}, "S101"),
        ({"address": "x y"}, "N104"),
        ({"address": 5}, "N104"),
        ({"join": "nowhere"}, "N104"),
        ({"join": 7000}, "N104"),
        ({"listen": "0.0.0.0:7000"}, "N106"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], code: str) -> None:
    """Bad input is refused before anything is opened."""
    with pytest.raises(SolventError) as caught:
        _read(**given)
    assert caught.value.code == code


def test_a_board_is_a_folder() -> None:
    """What is none is refused before the space is entered."""
    with pytest.raises(SolventError) as caught:
        solvent.shared.join("run", board=5)  # type: ignore[arg-type]
    assert caught.value.code == "S101"
