"""Builds the wheel, installs it outside the clone as users do, and runs a workflow there.

    python -m tests.repo.wheel                    on the oldest and the newest Python of this machine (`make wheel`)
    python -m tests.repo.wheel python3.12 ...     on these

Each extra gets an environment of its own: an extra that lacks a package must not find that of another extra. Only
versions of Python that the classifiers name are tried, and what they name is what may be tried. Packages come from
pip's index, or its cache, so this is no test of `make test`, which fetches nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.errors import install_hint
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Version: TypeAlias = tuple[int, int]

WORKFLOW = ROOT / "examples" / "workflows" / "first" / "morning.py"
MAX_SECONDS = 600
_NAME = re.compile(r"python3\.\d+")
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (\d+)\.(\d+)")
_WHICH = "import sys, venv; print(*sys.version_info[:2], sys.version_info.releaselevel, sys.implementation.name)"
_ASKING = """\
from solvent import http, run, workflow
ask = http("GET", "{address}/word")
@workflow
def asking():
    return ask()
print(run(asking).results)
"""


class Place:
    """An environment with the wheel and at most one extra, and a folder to work in."""

    def __init__(self, folder: Path, extra: str) -> None:
        self.extra = extra
        self.environment = folder / "environment"
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        shutil.copy(WORKFLOW, self.work)

    def run(self, program: str, *words: str, code: int = 0) -> str:
        """Run a program of the environment, and return all that it printed."""
        return _run([str(self.environment / "bin" / program), *words], cwd=self.work, code=code)

    def python(self, text: str) -> str:
        """Run a Python program in the environment."""
        return self.run("python", "-c", text)


def main(pythons: Sequence[str]) -> int:
    """Try the wheel; 1 if something about it is wrong."""
    begun = time.monotonic()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ["", *project["optional-dependencies"]]
    assert set(extras) == set(_TRIALS), "each extra has a trial here"
    known = {(int(one[1]), int(one[2])) for text in project["classifiers"] if (one := _CLASSIFIER.fullmatch(text))}
    found = {version: path for path in (pythons or _paths()) if (version := _version_of(path)) in known}
    if not found:
        print("The wheel was not tried: no Python that the classifiers name was found.")
        return 1
    wanted = sorted(found) if pythons else sorted({min(found), max(found)})
    with tempfile.TemporaryDirectory(prefix="solvent-wheel-") as name:
        folder = Path(name)
        wheel = _build(folder / "wheel")
        jobs = [(version, extra) for version in wanted for extra in extras]
        # Installing waits for the disk and for the index, so two at a time take less.
        with ThreadPoolExecutor(2) as pool:
            told = list(pool.map(lambda job: _tried(folder, wheel, found[job[0]], *job), jobs))
    print(f"{wheel.name}: {len(jobs)} installations tried in {time.monotonic() - begun:.0f} s")
    return int(not all(told))


def _tried(folder: Path, wheel: Path, python: str, version: Version, extra: str) -> bool:
    """Install the wheel with an extra, and try both; tell whether all went well."""
    name = f"Python {version[0]}.{version[1]}, {f'solvent[{extra}]' if extra else 'solvent'}"
    begun = time.monotonic()
    try:
        place = Place(folder / f"{version[0]}.{version[1]}-{extra or 'bare'}", extra)
        _install(place, wheel, python)
        _try_all(place)
        _TRIALS[extra](place)
    except (AssertionError, subprocess.SubprocessError, OSError) as error:
        print(f"✗ {name}\n{error}", flush=True)
        return False
    print(f"✓ {name:<32} {time.monotonic() - begun:4.1f} s", flush=True)
    return True


def _build(folder: Path) -> Path:
    _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)], cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _install(place: Place, wheel: Path, python: str) -> None:
    _run([python, "-m", "venv", "--without-pip", str(place.environment)], cwd=place.work)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        str(place.environment / "bin/python"),
    ]
    # What is imported is compiled then, and most is not.
    what = f"{wheel}[{place.extra}]" if place.extra else str(wheel)
    _run([*pip, "install", "--quiet", "--no-compile", what], cwd=place.work)


# --- what is tried


def _try_all(place: Place) -> None:
    """Run a workflow, from what was installed, and have the extra found."""
    where = place.python("import solvent; print(solvent.__file__)").strip()
    assert where.startswith(str(place.environment)), f"not what was installed: {where}"
    said = place.run("solvent", "run", WORKFLOW.name)
    assert "Porto: 20 °C, by train" in said, said
    findings = json.loads(place.run("solvent", "doctor", "--format", "json"))["findings"]
    missing = [one["name"] for one in findings if one["name"] in {"needed", place.extra} and one["state"] != "there"]
    assert not missing, findings


def _try_bare(place: Place) -> None:
    said = place.run("solvent", "web", code=2)
    assert install_hint("web") in said.replace("\n", " "), said


def _try_nats(place: Place) -> None:
    found = place.python("import nats, nkeys; from solvent.store.server import server_program; print(server_program())")
    assert Path(found.strip()).is_relative_to(place.environment), found


def _try_http(place: Place) -> None:
    with _answering("word") as address:
        said = place.python(_ASKING.format(address=address))
    assert said == "{'word': 'word'}\n", said


def _try_figures(place: Place) -> None:
    place.run("solvent", "show", WORKFLOW.name, "-o", "morning.png")
    assert (place.work / "morning.png").read_bytes().startswith(b"\x89PNG")


def _try_import(place: Place, modules: str) -> None:
    place.python(f"import {modules}")


_TRIALS: dict[str, Callable[[Place], None]] = {
    "": _try_bare,
    "nats": _try_nats,
    "web": partial(_try_import, modules="uvicorn, solvent.web.server"),
    "http": _try_http,
    "otel": partial(_try_import, modules="solvent.runs.observing.tracing"),
    "figures": _try_figures,
    "arrays": partial(_try_import, modules="numpy"),
    "arrow": partial(_try_import, modules="pyarrow"),
}


@contextmanager
def _answering(text: str) -> Iterator[str]:
    """Answer every request with a text; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the library's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


# --- programs


def _paths() -> Iterator[str]:
    """Yield what may be a Python: on the path, and among those of pyenv, whose programs on the path may do nothing."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for folder in [*map(Path, os.environ["PATH"].split(os.pathsep)), *sorted(pyenv.glob("versions/*/bin"))]:
        if folder.is_dir():
            yield from (str(one) for one in sorted(folder.iterdir()) if _NAME.fullmatch(one.name))


def _version_of(path: str) -> Version | None:
    """Return the version of a Python, or nothing if it is none that can be used."""
    try:
        said = subprocess.run([path, "-c", _WHICH], capture_output=True, text=True, check=True, timeout=MAX_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor, level, kind = said.stdout.split()
    return (int(major), int(minor)) if (level, kind) == ("final", "cpython") else None


def _run(command: Sequence[str], *, cwd: Path, code: int = 0) -> str:
    """Run a command that sees nothing of this environment, and return all that it printed."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SOLVENT", "VIRTUAL"))}
    plain["PYTHONUTF8"] = "1"
    done = subprocess.run(
        command, cwd=cwd, env=plain, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        timeout=MAX_SECONDS,
    )  # fmt: skip
    assert done.returncode == code, f"$ {' '.join(command)}\n{done.stdout}\nexit code {done.returncode}"
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
