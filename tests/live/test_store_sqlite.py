"""Files of stores: what else can be where one should be, and what others do to one that is open."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from errno import EIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.store import Append, Store, StoreError, open_store
from solvent.store.sqlite_file import CHECKPOINT_PAGES
from tests.live.data_hosts import Child

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the name of a file that is not there."""
    return tmp_path / "store.db"


# ------------------------------------------------------------------------------------------------------------ opening


def test_a_store_is_found_again_by_its_url(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The URL of an open store means the same file in every folder, whatever is in its name."""
    odd = path.with_name("a b%20ö?.db")
    monkeypatch.chdir(odd.parent)
    with open_store(odd.name) as store:
        store.append("log", b"there")
        url = store.url
    monkeypatch.chdir("/")
    assert url.startswith("sqlite:///")
    with open_store(url) as store:
        assert [record.data for record in store.read("log")] == [b"there"]
    assert [file.name for file in odd.parent.iterdir()] == [odd.name]


@pytest.mark.parametrize(
    "content", [b"some text that is no database at all\n" * 50, b"SQLite format 3\0" + b"\xff" * 4080]
)
def test_another_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    """A file that is no database is no store."""
    path.write_bytes(content)
    with pytest.raises(StoreError, match="E401"):
        open_store(str(path))
    assert path.read_bytes() == content


def test_another_database_is_refused_and_left_alone(path: Path) -> None:
    """A database of somebody else is no store, and not a byte of it is changed."""
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match=r"E401.*not a store"):
        open_store(str(path))
    assert path.read_bytes() == content


def test_a_newer_format_is_refused(path: Path) -> None:
    """A store of a later Solvent raises E407."""
    open_store(str(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match=r"E407.*format 99"):
        open_store(str(path))


def test_places_where_no_store_can_be(path: Path) -> None:
    """A folder, a missing folder, another kind of URL and options that cannot be are refused."""
    for url in (str(path.parent), str(path / "x" / "y.db"), "", "http://example.com/store", "sqlite://"):
        with pytest.raises(StoreError, match="E401") as caught:
            open_store(url)
        assert caught.value.exit_code == 2
    for options in ({"patience": 0}, {"patience": float("nan")}, {"max_record_bytes": 0}, {"max_blob_bytes": 1 << 40}):
        with pytest.raises(StoreError, match="E401"):
            open_store(str(path), **options)
    assert not path.exists()


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    """Whoever died while it made a store left an empty file: the next one goes on."""
    path.touch()
    with open_store(str(path)) as store:
        assert store.append("log", b"") == 1


def test_several_processes_make_a_store_at_once(path: Path) -> None:
    """Whoever comes first makes it, and nobody fails."""

    def work(say: Callable[[str], None]) -> None:
        with open_store(str(path), is_durable=False) as store:
            say(str(store.append("log", b"")))

    for _ in range(3):
        children = [Child(work) for _ in range(6)]
        assert sorted(int(child.hear()) for child in children) == [1, 2, 3, 4, 5, 6]
        for child in children:
            child.end()
        path.unlink()


# ------------------------------------------------------------------------------------------------------ no more room


def test_a_full_disk_is_said_and_nothing_is_lost(path: Path) -> None:
    """Where a file may not grow, appends raise E403, and what was acknowledged can be read."""

    def work(say: Callable[[str], None]) -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        with open_store(str(path)) as store:
            count = _fill(store)
            say(f"{count} {len(store.read('log', limit=10_000))}")
            with pytest.raises(StoreError, match="E403"):
                store.put_blob(bytes(500_000))
            assert store.last("log")

    child = Child(work)
    acknowledged, readable = map(int, child.hear().split())
    child.end()
    with open_store(str(path)) as store:
        assert acknowledged == readable == len(store.read("log", limit=10_000)) > 0
        store.append("log", bytes(10_000))


def _fill(store: Store) -> int:
    """Append until there is no room; give how many were acknowledged."""
    for count in range(10_000):
        try:
            store.append("log", bytes(2000))
        except StoreError as error:
            if error.code != "E403":
                raise
            return count
    raise AssertionError("there is always room")


_ON_SMALL_DISK = """
import sys
from pathlib import Path
from tests.live.test_store_sqlite import _fill
from solvent.store import open_store

ballast = Path(sys.argv[1], "ballast")
ballast.write_bytes(bytes(500_000))
with open_store(f"{sys.argv[1]}/store.db", is_durable=sys.argv[2] == "True") as store:
    count = _fill(store)
    assert len(store.read("log", limit=10_000)) == count > 0
    ballast.unlink()
    store.append("log", b"goes on")
with open_store(f"{sys.argv[1]}/store.db") as store:
    assert len(store.read("log", limit=10_000)) == count + 1
print("survived")
"""


def _in_namespace(folder: Path, commands: str, script: str, *arguments: str) -> str:
    """Run a script where something was mounted that nobody else sees; skip where the system does not let us."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no file systems of our own can be mounted here")
    line = f'{commands} && exec "$@"'
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", line, str(folder), sys.executable, "-c", script, str(folder), *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=200,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_store_goes_on_when_there_is_room_again(tmp_path: Path, *, is_durable: bool) -> None:
    """On a disk that is full for a while nothing that was acknowledged is lost, and the same store goes on."""
    mount = 'mount -t tmpfs -o size=2m none "$0"'
    assert _in_namespace(tmp_path, mount, _ON_SMALL_DISK, str(is_durable)) == "survived\n"


_ON_READ_ONLY_DISK = """
import sys
from solvent.errors import StoreError
from solvent.store import open_store

for name in ("store.db", "new.db"):
    try:
        open_store(f"{sys.argv[1]}/{name}")
    except StoreError as error:
        print(error.code, error.message.rpartition(": ")[2])
"""


def test_a_read_only_folder_is_said(tmp_path: Path) -> None:
    """Where nothing can be written no store is opened, whether it is there or not."""
    open_store(str(tmp_path / "store.db")).close()
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"'
    assert _in_namespace(tmp_path, mount, _ON_READ_ONLY_DISK) == "E401 no permission\n" * 2


# -------------------------------------------------------------------------------------------------- others at the file


@pytest.mark.parametrize("victim", ["", "-wal"])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_is_removed_is_said(path: Path, victim: str, *, is_replaced: bool) -> None:
    """Nothing is acknowledged by a store whose file was removed or replaced while it was open."""
    with open_store(str(path)) as store, store.watch([""]) as watch:
        store.append("log", b"there")
        gone = path.with_name(path.name + victim)
        content = gone.read_bytes()
        gone.unlink()
        if is_replaced:
            gone.write_bytes(content)
        for work in (lambda: store.append("log", b"lost"), lambda: store.read("log"), lambda: watch.wait(0.1)):
            with pytest.raises(StoreError, match=r"E409.*gone"):
                work()


def test_a_copy_of_the_process_must_open_it_again(path: Path) -> None:
    """After a fork the copy is refused by E408, can open the store itself, and does not disturb the other."""
    with open_store(str(path)) as store, store.watch([""]) as watch:
        store.append("log", b"before")

        def work(say: Callable[[str], None]) -> None:
            for use in (lambda: store.append("log", b"copy"), lambda: store.read("log"), lambda: watch.wait(0)):
                with pytest.raises(StoreError, match=r"E408.*fork"):
                    use()
            watch.close()
            store.close()
            with open_store(str(path)) as own:
                own.append("log", b"own")
            say("done")

        child = Child(work)
        assert child.hear() == "done"
        child.end()
        store.append("log", b"after")
        assert [record.data for record in store.read("log")] == [b"before", b"own", b"after"]


def test_who_is_stopped_in_a_transaction_is_named(path: Path) -> None:
    """Whoever waits in vain is told which process holds the lock, and that it is stopped; killing it helps."""
    with open_store(str(path), patience=0.3) as store:
        store.append("log", b"")

        def work(say: Callable[[str], None]) -> None:
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("BEGIN IMMEDIATE")
            say("locked")
            time.sleep(60)

        child = Child(work)
        assert child.hear() == "locked"
        os.kill(child.number, signal.SIGSTOP)
        os.waitpid(child.number, os.WUNTRACED)
        with pytest.raises(StoreError, match="E409") as caught:
            store.append("log", b"")
        assert (
            caught.value.hint == f"process {child.number} holds the lock, and is stopped: let it continue, or kill it"
        )
        assert len(store.read("log")) == 1
        child.kill()
        store.append("log", b"")


def test_who_is_stopped_while_it_writes_holds_up_nobody(path: Path) -> None:
    """Wherever a writer is stopped, others go on after a moment, and it is stopped still."""

    def work(say: Callable[[str], None]) -> None:
        with open_store(str(path), is_durable=False) as store:
            say("writes")
            while True:
                store.append_all([Append("log", b"")] * 20)

    with open_store(str(path), is_durable=False) as store:
        child = Child(work)
        assert child.hear() == "writes"
        for pause in range(6):
            time.sleep(0.0014 * pause)
            os.kill(child.number, signal.SIGSTOP)
            _wait_for_stop(child.number)
            store.append("other", b"")
            _wait_for_stop(child.number)
            last = store.last("log")
            time.sleep(0.005)
            assert store.last("log") == last
            os.kill(child.number, signal.SIGCONT)
        child.kill()
        assert len(store.read("other")) == 6


def _wait_for_stop(process: int) -> None:
    state = Path(f"/proc/{process}/stat")
    until = time.monotonic() + 200
    while state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < until


def test_a_watch_sleeps_while_others_write_elsewhere(path: Path) -> None:
    """Records of other logs do not wake who watches."""
    with open_store(str(path), is_durable=False) as store, store.watch(["mine/"]) as watch:
        for _ in range(5):
            store.append_all([Append("others/log", b"")] * 50)
            store.put("others/key", b"")
            assert not watch.wait(0.01)
        store.put("mine/key", b"")
        assert watch.wait(200)


# --------------------------------------------------------------------------------------------------------- durability


@pytest.mark.parametrize("is_durable", [True, False])
def test_what_is_acknowledged_was_brought_to_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, is_durable: bool
) -> None:
    """A durable store syncs its log before every acknowledgement; another one does not."""
    synced = list[int]()
    sync = os.fdatasync

    def note(number: int) -> None:
        synced.append(os.fstat(number).st_ino)
        sync(number)

    with open_store(str(path), is_durable=is_durable) as store:
        log = path.with_name(path.name + "-wal").stat().st_ino
        monkeypatch.setattr(os, "fdatasync", note)
        for work in (
            lambda: store.append("log", b""),
            lambda: store.append_all([Append("log", b"")] * 9),
            lambda: store.put("key", b""),
            lambda: store.delete("key"),
            lambda: store.put_blob(b"small"),
        ):
            synced.clear()
            work()
            assert synced == ([log] if is_durable else [])
        monkeypatch.undo()


def test_a_sync_that_fails_acknowledges_nothing_ever_after(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be brought to disk is not acknowledged, and nothing behind it."""

    def fail(_: int) -> None:
        raise OSError(EIO, "Input/output error")

    with open_store(str(path)) as store:
        store.append("log", b"")
        monkeypatch.setattr(os, "fdatasync", fail)
        with pytest.raises(StoreError, match=r"E403.*synced to disk"):
            store.append("log", b"")
        monkeypatch.undo()
        with pytest.raises(StoreError, match=r"E408.*synced to disk"):
            store.append("log", b"")


def test_the_log_does_not_grow_for_ever(path: Path) -> None:
    """Pages are moved into the main file now and then, while somebody reads and watches."""
    with open_store(str(path), is_durable=False) as store, store.watch([""]):
        for _ in range(60):
            store.append("log", bytes(1_000_000))
            store.read("log", after=store.last("log") - 1)
        assert path.stat().st_size > 40_000_000
        assert path.with_name(path.name + "-wal").stat().st_size < 1.5 * CHECKPOINT_PAGES * 4096
