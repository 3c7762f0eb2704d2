"""What is kept of a cell's runs, and how sure a mean over them is."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import NamedTuple, TypeAlias

import msgspec

from solvent_lab.simulator.token import Outcome, Setup  # noqa: TC001 - msgspec looks at the types

# Student's t for 95 %, two-sided, by degrees of freedom from 1 on; beyond, that of 16, which is a little too wide.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_STUDENT_BEYOND = 2.12


class Estimate(NamedTuple):
    """A mean over runs, and half the width of its 95 % confidence interval; zero if there is one run only."""

    mean: float
    half: float

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half


def estimate(values: list[float]) -> Estimate:
    """Estimate the mean of what values were drawn from, one for each run."""
    count = len(values)
    if count < 2:
        return Estimate(fmean(values), 0.0)
    student = _STUDENT[count - 2] if count - 2 < len(_STUDENT) else _STUDENT_BEYOND
    return Estimate(fmean(values), student * stdev(values) / count**0.5)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A cell's runs."""

    setup: Setup
    seed: int
    outcomes: list[Outcome]

    @property
    def responsiveness(self) -> Estimate:
        """The mean time from the first moment somebody waits until somebody is served."""
        return estimate([outcome.responsiveness for outcome in self.outcomes])

    @property
    def wait(self) -> Estimate:
        """The mean time from a request until it is served."""
        return estimate([outcome.wait for outcome in self.outcomes])

    @property
    def messages(self) -> Estimate:
        """All messages per request."""
        return estimate([outcome.messages_per_request for outcome in self.outcomes])

    @property
    def searches(self) -> Estimate:
        """The messages per request that do not carry the token."""
        return estimate([outcome.searches_per_request for outcome in self.outcomes])

    @property
    def steps_per_grant(self) -> Estimate:
        """Time for each service."""
        return estimate([outcome.steps_per_grant for outcome in self.outcomes])

    @property
    def max_responsiveness(self) -> int:
        """The longest time of all runs."""
        return max(outcome.max_responsiveness for outcome in self.outcomes)

    @property
    def max_wait(self) -> int:
        """The longest wait of all runs."""
        return max(outcome.max_wait for outcome in self.outcomes)

    @property
    def max_others(self) -> int:
        """The most often others got the token while one waited, in any run."""
        return max(outcome.max_others for outcome in self.outcomes)

    @property
    def max_one_other(self) -> int:
        """The most often any one other node got the token while one waited, in any run."""
        return max(outcome.max_one_other for outcome in self.outcomes)

    @property
    def requests(self) -> int:
        """The requests served in all runs."""
        return sum(outcome.requests for outcome in self.outcomes)

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return len(self.outcomes)


Cells: TypeAlias = Mapping[str, Measured]

__all__ = ["Cells", "Estimate", "Measured", "estimate"]
