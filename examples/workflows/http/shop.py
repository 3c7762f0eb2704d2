"""Start four servers, one of which dies in the middle, and run the workflow that uses them.

`python shop.py`; what is said after it goes to `solvent run`, such as `--format json`.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

HERE = Path(__file__).parent
# The server of prices dies at its third request.
SERVERS = {"catalogue": [], "prices": ["--answers-max", "2"], "mirror": [], "shipping": []}


def start(name: str, options: list[str], ends: ExitStack) -> str:
    """Start a server that ends with this program, and give its port."""
    words = [sys.executable, str(HERE / "server.py"), name, *options]
    server = ends.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))  # noqa: S603 - our own server
    ends.callback(server.kill)
    assert server.stdout is not None
    return server.stdout.readline().strip()


def count_of(port: str) -> str:
    """Ask a server how many requests it has answered."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/count") as reply:
            return f"answered {reply.read().decode()}"
    except URLError:
        return "is dead"


def main(words: list[str]) -> int:
    """Run the workflow while the servers are there; then ask them what they have seen."""
    with ExitStack() as ends:
        ports = {name: start(name, options, ends) for name, options in SERVERS.items()}
        inputs = [word for name, port in ports.items() for word in ("--input", f"{name}={port}")]
        command = [sys.executable, "-m", "solvent", "run", str(HERE / "shop.yaml"), *inputs, *words]
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - our own command
        for name, port in ports.items():
            print(f"{name} {count_of(port)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
