"""Runs the tests that failed last again, alone: `make retest`.

A test that fails beside others on a busy machine and passes alone is flaky. It is named, so that it gets mended, but
does not keep everything else from landing. More than a few failures are no accident, and are not tried again.
"""

import json
import subprocess
import sys

from tests.repo.project import ROOT

MAX_FAILED = 3


def main() -> int:
    """Run the last failures again and return the exit code."""
    file = ROOT / ".pytest_cache/v/cache/lastfailed"
    failed = sorted(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else []
    if not 0 < len(failed) <= MAX_FAILED:
        print(f"{len(failed)} tests failed; only 1 to {MAX_FAILED} are tried again.")
        return 1
    code = subprocess.run([sys.executable, "-m", "pytest", "-n", "0", "-v", *failed], cwd=ROOT, check=False).returncode
    if code == 0:
        print("FLAKY, to be mended:", *failed, sep="\n  ")
    return code


if __name__ == "__main__":
    sys.exit(main())
