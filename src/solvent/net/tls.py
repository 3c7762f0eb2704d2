"""TLS between nodes: both sides show a certificate, and both must be of the authority that all nodes trust.

Whoever has a certificate of that authority may talk to nodes; which node it is, its handshake says (`handshake`).
Names in certificates are not compared with addresses, since nodes move from one machine to another: so the authority
should be one that signs for these nodes only.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from solvent.errors import NodeProblem

MAX_HANDSHAKE_SECONDS = 5.0
VARIABLES = ("SOLVENT_TLS_CA", "SOLVENT_TLS_CERT", "SOLVENT_TLS_KEY")


@dataclass(frozen=True, kw_only=True)
class Tls:
    """The files (PEM) of a node: the authority's certificate, its own, and the key of that."""

    ca: str
    cert: str
    key: str = field(repr=False)

    @cached_property
    def server(self) -> ssl.SSLContext:
        """Give what those are accepted by who dial."""
        return self._context(ssl.PROTOCOL_TLS_SERVER)

    @cached_property
    def client(self) -> ssl.SSLContext:
        """Give what others are dialled with."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    @property
    def listening(self) -> dict[str, Any]:
        """Give what a loop's server is told: a stranger that says nothing is not kept for long."""
        return {"ssl": self.server, "ssl_handshake_timeout": MAX_HANDSHAKE_SECONDS}

    @property
    def dialling(self) -> dict[str, Any]:
        """Give what a loop's connection is told."""
        return {"ssl": self.client, "server_hostname": ""}

    def check(self) -> Tls:
        """Raise `NodeProblem` N121 for files that are of no use, or a certificate that the other nodes would refuse."""
        try:
            _shake_hands(self.server, self.client)
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", "") or error.reason or str(error)
            hint = "the certificate must be signed by the authority of --tls-ca, for servers and clients"
            raise NodeProblem("N121", f"no node would trust the certificate {self.cert}: {why}", hint=hint) from None
        return self

    def _context(self, purpose: int) -> ssl.SSLContext:
        for what, path in (("ca", self.ca), ("cert", self.cert), ("key", self.key)):
            if not os.access(path, os.R_OK) or not Path(path).is_file():
                raise NodeProblem("N121", f"the file for TLS ({what}) cannot be read: {path}")
        context = ssl.SSLContext(purpose)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        if purpose == ssl.PROTOCOL_TLS_SERVER:
            # Connections are not resumed; and who waits for data would be woken by tickets.
            context.num_tickets = 0
        try:
            context.load_verify_locations(self.ca)
            context.load_cert_chain(self.cert, self.key, password=_no_password)
        except (OSError, ValueError) as error:
            said = f"the files for TLS cannot be used: {getattr(error, 'reason', None) or error}"
            hint = "they are PEM files; the key is that of the certificate, and needs no password"
            raise NodeProblem("N121", said, hint=hint) from None
        return context


def tls_from(ca: str | None, cert: str | None, key: str | None) -> Tls | None:
    """Give what the options say, or the environment where they say nothing; nothing where neither does."""
    given = [one or os.environ.get(name) or "" for one, name in zip((ca, cert, key), VARIABLES, strict=True)]
    if not any(given):
        return None
    if not all(given):
        hint = f"--tls-ca, --tls-cert and --tls-key, or {', '.join(VARIABLES)}"
        raise NodeProblem("N121", "TLS needs three files: an authority, a certificate and its key", hint=hint)
    return Tls(ca=given[0], cert=given[1], key=given[2]).check()


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Let a node meet itself, without a network."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [server.wrap_bio(there, back, server_side=True), client.wrap_bio(back, there)]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)


def _no_password() -> str:
    # Else the library would ask at the terminal, in the middle of whatever goes on.
    raise ValueError("the key needs a password")


__all__ = ["VARIABLES", "Tls", "tls_from"]
