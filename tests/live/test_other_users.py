"""Another user of the machine does not get into a space or a ring that names no secret."""

from __future__ import annotations

import asyncio
import codecs
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.net import address_from_text
from solvent.net.private_folder import MEMORY, default_base
from solvent.net.secrecy import own_secret
from solvent.runs.nodes.control import Line
from tests.live.data_hosts import Child
from tests.loop import in_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
MAX_SECONDS = 200.0
_PR_SET_DUMPABLE = 4


@pytest.fixture(name="stranger")
def _stranger(tmp_path: Path) -> Iterator[Callable[[Callable[[], str]], str]]:
    """Give what does something as another user, and gives what that says; or the code of its error."""
    # Python may lie where another user cannot read it: what sockets need of it is read before.
    codecs.lookup("idna")
    # A number that nobody has, and no other test.
    uid = 1_000_000 + os.getpid()
    folder = Path(tempfile.mkdtemp(prefix="solvent-test-"))
    os.chown(folder, uid, uid)
    children = list[Child]()

    def done(act: Callable[[], str]) -> str:
        def work(say: Callable[[str], None]) -> None:
            os.chdir(folder)
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            # After the change of the user /proc/self would be root's, which it is not in a program that was started so.
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)
            os.environ["HOME"] = str(folder)
            tempfile.tempdir = str(folder)
            try:
                say(act())
            except solvent.SolventError as problem:
                say(problem.code)

        children.append(Child(work))
        return children[-1].hear()

    yield done
    for child in children:
        with suppress(ProcessLookupError, ChildProcessError):
            child.kill()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(MEMORY / f"solvent-{uid}", ignore_errors=True)


@pytest.fixture(name="name")
def _name() -> str:
    return f"other users {os.getpid()}"


def _change(name: str, **options: Any) -> str:
    """Read and change the data of a space."""
    with solvent.shared.join(name, **options) as space, space.handle("m") as handle:
        view = handle.acquire(timeout=MAX_SECONDS)
        found = bytes(view[:6]).decode()
        view[:6] = b"stolen"
        handle.release()
    return found


def _lock(**options: Any) -> str:
    """Take the lock of a ring."""

    async def take() -> str:
        async with solvent.ring.join(**options) as ring, ring.lock():
            return "taken"

    return asyncio.run(take())


@pytest.mark.parametrize("given", [{}, {"secret": False}, {"secret": "a guess"}])
def test_another_user_does_not_get_into_a_space(
    stranger: Callable[[Callable[[], str]], str], name: str, given: dict[str, Any]
) -> None:
    """Through the port of this machine another user neither reads nor changes data; the same user does."""
    with solvent.shared.join(name) as space, space.handle("m", initial=b"secret") as handle:
        handle.acquire()
        handle.release()
        assert stranger(lambda: _change(name, join=space.address, **given)) == "S202"
        assert bytes(handle.acquire("read")) == b"secret"
        handle.release()
        child = Child(lambda say: say(_change(name, join=space.address)))
        assert child.hear() == "secret"
        child.end()


@pytest.mark.parametrize("given", [{}, {"secret": False}, {"secret": "a guess"}])
@in_loop
async def test_another_user_does_not_get_the_lock_of_a_ring(
    stranger: Callable[[Callable[[], str]], str], given: dict[str, Any]
) -> None:
    """Through the port of this machine another user does not join; the same user does, and takes the lock."""
    async with solvent.ring.join() as ring:
        refused = await asyncio.to_thread(stranger, lambda: _lock(join=ring.address, **given))
        assert refused == "N132"
        child = Child(lambda say: say(_lock(join=ring.address)))
        assert await asyncio.to_thread(child.hear) == "taken"
        await asyncio.to_thread(child.end)


def test_another_user_gives_no_program_to_a_node(stranger: Callable[[Callable[[], str]], str], tmp_path: Path) -> None:
    """A node of `solvent lab serve capture` at an address of this machine talks to its own user only."""
    command = [sys.executable, "-m", "solvent", "lab", "serve", "capture", "--state", str(tmp_path / "state")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as node:
        try:
            assert node.stderr is not None
            address = address_from_text(node.stderr.readline().split()[4])

            def visit(secret: bytes) -> str:
                Line(address, secret, max_seconds=MAX_SECONDS).close()
                return "let in"

            assert visit(own_secret()) == "let in"
            assert stranger(lambda: visit(own_secret())) == "N130"
            assert stranger(lambda: visit(b"")) == "N130"
        finally:
            node.kill()


def test_processes_that_begin_at_the_same_time_have_one_secret(stranger: Callable[[Callable[[], str]], str]) -> None:
    """A user who has no secret yet gets one, whichever process makes it, in a file that only this user can read."""

    def ask() -> str:
        with ThreadPoolExecutor(8) as pool:
            found = set(pool.map(lambda _: own_secret(), range(8)))
        path = default_base() / "secret"
        return f"{len(found)} {path.stat().st_mode & 0o777:o} {path.parent.stat().st_mode & 0o777:o}"

    assert stranger(ask) == "1 600 700"


def test_without_any_secret_another_user_gets_in_where_that_is_said(
    stranger: Callable[[Callable[[], str]], str], name: str
) -> None:
    """`secret=False` lets anybody in who can reach the port."""
    with solvent.shared.join(name, secret=False) as space, space.handle("m", initial=b"public") as handle:
        handle.acquire()
        handle.release()
        assert stranger(lambda: _change(name, join=space.address, secret=False)) == "public"
