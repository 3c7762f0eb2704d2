"""What all tests share: the `--rewrite` option and the profiles of hypothesis.

`pytest --rewrite` makes transcript tests write what they saw into their expected files instead of comparing;
the difference is then reviewed like any other change. `make test` draws the same examples every time, so that
a failure is a failure for everyone; `make soak` draws fresh ones, and more of them. Only the order of tests
is random, and a failing run ends with the option that repeats it. Several processes share the tests, each going through
its part in that order; which part is whose is not repeated, so one process alone repeats a failure most surely.
"""

from __future__ import annotations

import gc
import signal

import hypothesis
import pytest

from tests.soak_size import scaled

# A shell lets what it starts in the background ignore Ctrl-C, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples that are the same every time show most with the first of them.
hypothesis.settings.register_profile("repeatable", max_examples=60, derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("soak", max_examples=scaled(2_000), deadline=None, print_blob=True)
hypothesis.settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--rewrite`."""
    parser.addoption(
        "--rewrite",
        action="store_true",
        default=False,
        help="write expected files anew from what the tests see, instead of comparing",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep what has been imported and collected out of the collector's way: there is much, and it stays."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """Say after a failure how to get the same order of tests again; the quiet header does not."""
    seed = config.getoption("randomly_seed", None)
    if exitstatus == pytest.ExitCode.TESTS_FAILED and seed is not None:
        terminalreporter.write_line(f"the same order again: --randomly-seed={seed}")


@pytest.fixture(scope="session")
def rewrite(pytestconfig: pytest.Config) -> bool:
    """Say whether expected files are to be written anew."""
    return bool(pytestconfig.getoption("--rewrite"))
