"""A NATS server from the wheel, as a process on this machine; it may be one of a cluster.

The configuration of a server is a file beside its data, readable by its owner only, since it may contain passwords. A
folder is used by one server at a time: the server's process holds a lock on it, even after its parent has ended.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self
from urllib.parse import quote

from solvent.errors import StoreError, install_hint
from solvent.net import ports
from solvent.net.ports import LOOPBACK

MAX_PAYLOAD_BYTES = 8 << 20
"""Of a record; the makers of NATS advise not to exceed this."""

_START_S = 60.0
_STOP_S = 10.0
_LOOK_S = 0.2
_MAX_TRIES = 5
_SPECIAL = re.compile(r'[\x00-\x1f"\\]')


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The configuration of a server."""

    folder: Path
    name: str = "solvent"
    host: str = LOOPBACK
    port: int = 0
    """0: any free port."""
    is_durable: bool = False
    """Whether it answers only when an append is on disk."""
    max_payload_bytes: int = MAX_PAYLOAD_BYTES
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    cert: str = ""
    key: str = field(default="", repr=False)
    ca: str = ""
    """If set, clients need a certificate signed by this authority."""
    cluster_port: int = 0
    """The port for the other servers of a cluster; 0: there are none."""
    routes: tuple[str, ...] = ()
    """`host:port` of all servers of the cluster."""
    max_store_bytes: int = 0
    """0: as much as the disk holds."""
    more: str = field(default="", repr=False)
    """Further lines of configuration."""

    def configuration(self) -> str:
        """Return the text of a server's configuration file."""
        store = [f"store_dir: {_quoted(str(self.folder / 'store'))}"]
        # Without this a server answers at once and syncs its files every two minutes.
        store += ["sync_interval: always"] if self.is_durable else []
        store += [f"max_file_store: {self.max_store_bytes}"] if self.max_store_bytes else []
        lines = [
            f"server_name: {_quoted(self.name)}",
            f"host: {_quoted(self.host)}",
            f"port: {self.port}",
            f"max_payload: {self.max_payload_bytes}",
            *_block("jetstream", store),
        ]
        if self.user:
            lines += _block("authorization", [f"user: {_quoted(self.user)}", f"password: {_quoted(self.password)}"])
        elif self.token:
            lines += _block("authorization", [f"token: {_quoted(self.token)}"])
        if self.cert:
            lines += _block("tls", self._tls())
        if self.cluster_port:
            lines += _block("cluster", self._cluster())
        return "\n".join([*lines, self.more]).rstrip() + "\n"

    def _cluster(self) -> list[str]:
        lines = ["name: solvent", f"host: {_quoted(self.host)}", f"port: {self.cluster_port}"]
        secret, who = self.password or self.token, ""
        if secret:
            # A server in the cluster sees everything: so the others must know the secret of the clients.
            lines += _block("authorization", ["user: server", f"password: {_quoted(secret)}"])
            who = f"server:{quote(secret, safe='')}@"
        routes = ", ".join(_quoted(f"nats://{who}{route}") for route in self.routes)
        return [*lines, f"routes: [{routes}]", *_block("tls", self._tls() if self.cert else [])]

    def _tls(self) -> list[str]:
        lines = [f"cert_file: {_quoted(self.cert)}", f"key_file: {_quoted(self.key)}"]
        return lines + ([f"ca_file: {_quoted(self.ca)}", "verify: true"] if self.ca else [])


def _quoted(text: str) -> str:
    """Quote a text for a server's configuration, whose escapes differ from JSON."""
    return f'"{_SPECIAL.sub(_escaped, text)}"'


def _escaped(found: re.Match[str]) -> str:
    one = found[0]
    return rf"\x{ord(one):02x}" if one < " " else f"\\{one}"


def _block(name: str, lines: list[str]) -> list[str]:
    return [f"{name} {{", *(f"  {line}" for line in lines), "}"] if lines else []


class Server:
    """A server process; `start` and `stop` as often as wanted, on the same port and folder."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the address for `open_store`, without anything secret."""
        scheme = "tls" if self.plan.cert else "nats"
        host = f"[{self.plan.host}]" if ":" in self.plan.host else self.plan.host
        return f"{scheme}://{host}:{self.plan.port}{'?durable=yes' if self.plan.is_durable else ''}"

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.plan.folder / "server.log"

    def start(self) -> Self:
        """Start it and wait until it is ready; raise `StoreError` E401 if it does not start."""
        is_any = self.plan.port == 0
        for _ in range(_MAX_TRIES if is_any else 1):
            if is_any:
                self.plan = replace(self.plan, port=free_port(self.plan.host))
            before = self.log.stat().st_size if self.log.exists() else 0
            self._launch()
            if self._is_ready(before):
                return self
            self.kill()
        raise StoreError("E401", f"the NATS server does not start: {self._last_words()}")

    def stop(self) -> None:
        """End it by SIGTERM; kill it if that does not suffice."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self._end(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        if self.is_running:
            os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait until it has ended and return its exit code."""
        assert self._process is not None
        # Again and again: a Ctrl-C that comes just before a long sleep would not end it.
        while (code := self._process.poll()) is None:
            time.sleep(_LOOK_S)
        return code

    def _launch(self) -> None:
        program = server_program()
        folder = self.plan.folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(folder / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unusable(error) from None
        try:
            # First of all: another server's configuration must not change.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file = folder / "server.conf"
            file.unlink(missing_ok=True)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as text:
                text.write(self.plan.configuration().encode(errors="surrogateescape"))
            with os.fdopen(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
                # A session of its own: Ctrl-C reaches only the parent, which then stops the server.
                self._process = subprocess.Popen(  # noqa: S603 - the program of the wheel
                    [program, "-c", str(file)], stdout=log, stderr=log, pass_fds=(lock,), start_new_session=True
                )
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(self._process.pid).encode(), 0)
        except BlockingIOError:
            raise self._kept_by_another(lock) from None
        except OSError as error:
            raise self._unusable(error) from None
        finally:
            os.close(lock)

    def _kept_by_another(self, lock: int) -> StoreError:
        """Return the error that names the server in this folder, which may have outlived its parent."""
        number = os.pread(lock, 20, 0).decode("ascii", "replace")
        who = f"process {number}" if number.isdecimal() else "another server"
        hint = f"use that server, or end it: kill {number}" if number.isdecimal() else ""
        return StoreError("E401", f"{who} keeps its data in {self.plan.folder}, and is running", hint=hint)

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError("E401", f"the folder {self.plan.folder} cannot be used: {error.strerror}")

    def _is_ready(self, before: int) -> bool:
        """Wait until its log says so: a port that answers may be another server's."""
        until = time.monotonic() + _START_S
        while self.is_running and time.monotonic() < until:
            with self.log.open("rb") as log:
                log.seek(before)
                if b"Server is ready" in log.read():
                    return self.is_running
            time.sleep(0.02)
        return False

    def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _last_words(self) -> str:
        with suppress(OSError):
            for line in reversed(self.log.read_text(errors="replace").splitlines()):
                for mark in ("[FTL]", "nats-server:"):
                    if mark in line:
                        return line.partition(mark)[2].strip()
        return f"see {self.log}"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def server_program() -> str:
    """Return the path of the server from the wheel, or of one that is installed otherwise."""
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(beside) if beside.is_file() else shutil.which("nats-server")
    if found is None:
        raise StoreError("E401", "nats-server is not installed", hint=install_hint("nats"))
    return found


def free_port(host: str = LOOPBACK) -> int:
    """Return a free port; another process may take it before it is used."""
    return free_ports(1, host)[0]


def free_ports(count: int, host: str = LOOPBACK) -> list[int]:
    """Return several different free ports."""
    try:
        return ports.free_ports(count, host)
    except OSError as error:
        raise StoreError("E401", f"cannot listen at {host}: {error.strerror}") from None


__all__ = ["Plan", "Server", "free_port", "free_ports", "server_program"]
