"""Certificates for tests: an authority, a server of loopback and a client, made by `openssl`."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

HAS_OPENSSL = shutil.which("openssl") is not None


class Certificates(NamedTuple):
    """Paths of PEM files."""

    ca: str
    cert: str
    key: str


def make_certificates(folder: Path) -> Certificates:
    """Make an authority, and a certificate of it that serves both sides."""
    folder.mkdir(parents=True, exist_ok=True)
    extensions = folder / "extensions"
    extensions.write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = ["-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"]
    request = ["-subj", "/CN=solvent", "-keyout", "key.pem", "-out", "request"]
    signed = ["-req", "-days", "2", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions"]
    for words in (
        ["req", *curve, *authority],
        ["req", *curve, *request],
        ["x509", *signed, "-in", "request", "-out", "cert.pem"],
    ):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    return Certificates(*(str(folder / name) for name in ("ca.pem", "cert.pem", "key.pem")))
