"""Where a store on NATS servers is, as a URL says it, and what is needed to be let in.

    nats://host:port[,host:port...][/NAME][?replicas=3&durable=yes&ca=FILE&cert=FILE&key=FILE&creds=FILE]
    tls://user:password@host:port                        nats://token@host:port

`NAME` tells several stores of the same servers apart. `tls://`, or any of `ca`, `cert` and `key`, means that nothing is
said to a server which does not prove who it is. What is secret is kept where neither `repr` nor `shown` gives it, and
no error says more of a URL than its servers and the names of its options.
"""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from urllib.parse import parse_qsl, unquote

from solvent.errors import StoreError

PORT = 4222
NAME = "solvent"
MAX_REPLICAS = 5

_STORE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
_OPTIONS = ("replicas", "durable", "ca", "cert", "key", "creds")
_EXAMPLE = "for example `nats://127.0.0.1:4222`, or `tls://host1:4222,host2:4222/NAME?replicas=3`"
_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, kw_only=True)
class Address:
    """What a URL says."""

    servers: tuple[str, ...]
    """`host:port` each."""
    name: str = NAME
    replicas: int | None = None
    """How many servers keep each record; none: as the store was made, and one for a new one."""
    is_durable: bool | None = None
    is_tls: bool = False
    ca: str = ""
    cert: str = ""
    key: str = field(default="", repr=False)
    creds: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """Return the URL without anything secret."""
        scheme = "tls" if self.is_tls else "nats"
        options = [f"replicas={self.replicas}"] if self.replicas is not None else []
        if self.is_durable is not None:
            options.append(f"durable={'yes' if self.is_durable else 'no'}")
        more = f"?{'&'.join(options)}" if options else ""
        return f"{scheme}://{','.join(self.servers)}/{self.name}{more}"

    def tls_context(self) -> ssl.SSLContext | None:
        """Return what the connection is protected by; raise `StoreError` E401 for files that are of no use."""
        if not self.is_tls:
            return None
        if bool(self.cert) != bool(self.key):
            raise StoreError("E401", "`cert` and `key` belong together", hint="`?ca=FILE&cert=FILE&key=FILE`")
        for what, path in (("ca", self.ca), ("cert", self.cert), ("key", self.key)):
            if path and not os.access(path, os.R_OK):
                raise StoreError("E401", f"the file for TLS ({what}) cannot be read: {path}")
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
            if self.cert:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as error:
            said = f"the files for TLS (ca, cert, key) cannot be used: {error.strerror or type(error).__name__}"
            raise StoreError("E401", said, hint="they are PEM files; the key must not need a password") from None
        return context


def read_address(url: str) -> Address:
    """Read a URL; raise `StoreError` E401 for one that is wrong."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme not in ("nats", "tls"):
        _wrong(f"`{scheme}://` is no kind of address for NATS servers")
    rest, _, query = rest.partition("?")
    options = _options(query)
    rest, _, name = rest.partition("/")
    secret, at, hosts = rest.rpartition("@")
    if name and not _STORE_NAME.fullmatch(name):
        _wrong("the name of the store, behind the `/`, may have letters, digits, _ and -, at most 64")
    user, colon, password = secret.partition(":")
    if at and not secret:
        _wrong("there is nothing before the `@`")
    return Address(
        servers=tuple(_server(host) for host in hosts.split(",")),
        name=name or NAME,
        replicas=_replicas(options.get("replicas")),
        is_durable=_is_durable(options.get("durable")),
        is_tls=scheme == "tls" or any(options.get(one) for one in ("ca", "cert", "key")),
        ca=options.get("ca", ""),
        cert=options.get("cert", ""),
        key=options.get("key", ""),
        creds=_creds(options.get("creds", "")),
        user=unquote(user) if colon else "",
        password=unquote(password),
        token="" if colon else unquote(user),
    )


def _options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if option not in _OPTIONS:
            # A secret may have been put into the wrong place: only a plain word is repeated.
            shown = f"`{option}`" if option.isalpha() and len(option) <= 20 else "one of them"
            _wrong(f"options are {', '.join(_OPTIONS)}; {shown} is none")
    return options


def _server(text: str) -> str:
    found = _HOST.fullmatch(text)
    if found is None:
        _wrong("a server is `host:port`, and several are joined by commas")
    port = int(found["port"] or PORT)
    if not 0 < port < 65536:
        _wrong("a port is between 1 and 65535")
    return f"{found['host']}:{port}"


def _replicas(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MAX_REPLICAS:
        _wrong(f"`replicas` is a number from 1 to {MAX_REPLICAS}")
    return int(text)


def _is_durable(text: str | None) -> bool | None:
    if text is None:
        return None
    if text not in _YES:
        _wrong("`durable` is `yes` or `no`")
    return _YES[text]


def _creds(path: str) -> str:
    if path and not Path(path).is_file():
        raise StoreError("E401", "there is no such file of credentials as `creds` names")
    return path


def _wrong(said: str) -> NoReturn:
    raise StoreError("E401", f"the address of the store is wrong: {said}", hint=_EXAMPLE)


__all__ = ["Address", "read_address"]
