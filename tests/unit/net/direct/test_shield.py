"""Ctrl-C and steps."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from solvent.net.direct.shield import Shield


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(name="shield")
def _shield() -> Shield:
    before = signal.getsignal(signal.SIGINT)
    shield = Shield()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield shield
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_last_host_gives_the_place_of_the_handler_back(shield: Shield) -> None:
    """And not one before it."""
    assert shield.install()
    assert shield.install()
    shield.remove()
    assert signal.getsignal(signal.SIGINT) == shield.on_interrupt
    shield.remove()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_place_is_not_given_back_inside_a_step(shield: Shield) -> None:
    """Python's own handler would raise before the step is over."""
    assert shield.install()
    shield.depth += 1
    shield.remove()
    _interrupt()
    with pytest.raises(KeyboardInterrupt):
        shield.lower()
    shield.give_back()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_users_own_stays(shield: Shield) -> None:
    """Whoever has one knows why."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert not shield.install()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_thread_beside_the_main_one_installs_nothing(shield: Shield) -> None:
    """Python lets only the main thread."""
    found = list[bool]()
    thread = threading.Thread(target=lambda: found.append(shield.install()))
    thread.start()
    thread.join()
    assert found == [False]
