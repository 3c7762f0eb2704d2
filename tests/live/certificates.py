"""Certificates for tests, made by the `openssl` command: an authority, and what it has signed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.net.tls import Tls

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Certificates:
    """An authority with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self._openssl("req", "-x509", *_NEW_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca")

    def tls(self, name: str, *, days: int = 2) -> Tls:
        """Sign a certificate."""
        if not (self.folder / f"{name}.pem").exists():
            self._openssl("req", *_NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
            signed = ("-in", f"{name}.csr", "-out", f"{name}.pem", "-CA", "ca.pem", "-CAkey", "ca.key")
            self._openssl("x509", "-req", *signed, "-CAcreateserial", "-days", str(days))
        return Tls(ca=self.path("ca.pem"), cert=self.path(f"{name}.pem"), key=self.path(f"{name}.key"))

    def path(self, name: str) -> str:
        """Give the path of a file."""
        return str(self.folder / name)

    def options(self, name: str) -> list[str]:
        """Give the options of a command."""
        tls = self.tls(name)
        return ["--tls-ca", tls.ca, "--tls-cert", tls.cert, "--tls-key", tls.key]

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True, timeout=200)


@contextmanager
def certificates() -> Iterator[Certificates]:
    """Make an authority; a test that wants one is skipped where there is no `openssl`."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by the `openssl` command, and there is none")
    folder = Path(tempfile.mkdtemp(prefix="solvent-test-"))
    try:
        yield Certificates(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
