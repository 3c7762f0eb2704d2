"""Encoding that survives a lack of memory, and bytes in pieces."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from solvent.values.encoding import MAX_PIECE_BYTES, Pieces, digest_of, utf8_size

CRASHES = """\
import resource
from solvent.values.encoding import encode_msgpack
value = b"a" * 100_000_000
resource.setrlimit(resource.RLIMIT_AS, (250_000_000, 250_000_000))
try:
    encode_msgpack(value)
except MemoryError:
    print("survived")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process so")
def test_a_lack_of_memory_is_an_exception() -> None:
    """Where memory does not hold what is encoded, the encoder raises `MemoryError`."""
    done = subprocess.run([sys.executable, "-c", CRASHES], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "survived\n")


def test_pieces_are_short_and_whole() -> None:
    """Pieces come in short stretches, again and again, and texts as UTF-8."""
    text = "aä" * MAX_PIECE_BYTES
    pieces = Pieces((b"", b"x" * (MAX_PIECE_BYTES + 1), text), MAX_PIECE_BYTES + 1 + utf8_size(text))
    whole = b"x" * (MAX_PIECE_BYTES + 1) + text.encode()
    for _ in range(2):
        assert b"".join(pieces) == whole
    assert 0 < min(map(len, pieces)) <= max(map(len, pieces)) <= 2 * MAX_PIECE_BYTES
    assert (len(pieces), digest_of(pieces)) == (len(whole), hashlib.sha256(whole).hexdigest())
