"""Metrics, as Prometheus reads them."""

from __future__ import annotations

from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from solvent.errors import AgentProblem
from solvent.runs.observing.endpoint import Endpoint
from solvent.runs.observing.metrics import Metrics
from tests.property.amounts import examples


def read(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Read metrics with Prometheus's own parser: samples by their names and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@examples(50)
@given(st.lists(st.floats(0, 20), max_size=30))
def test_a_histogram_counts_what_is_not_longer(values: list[float]) -> None:
    """Each limit counts all that took no longer, and the last one everything."""
    metrics = Metrics()
    seconds = metrics.histogram("seconds", "How long.", limits=(0.1, 1.0, 10.0))
    for value in values:
        seconds.note(value)
    found = read(metrics.text())
    for limit, text in ((0.1, "0.1"), (1.0, "1"), (10.0, "10"), (float("inf"), "+Inf")):
        assert found["seconds_bucket", (("le", text),)] == sum(value <= limit for value in values)
    assert found["seconds_count", ()] == len(values)
    assert found["seconds_sum", ()] == pytest.approx(sum(values))


@examples(100)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('\\"\n'), max_size=10))
def test_any_label_is_read_as_it_was_written(label: str) -> None:
    """Quotes, backslashes and ends of lines in a label do not break the text."""
    metrics = Metrics()
    metrics.counter("calls_total", "Calls.", "service").add(label)
    assert read(metrics.text()) == {("calls_total", (("service", label),)): 1.0}


def test_metrics_are_read_over_http() -> None:
    """They are at `/metrics`, in the type that Prometheus expects, and nowhere else."""
    metrics = Metrics()
    metrics.counter("turns_total", "Turns.").add()
    with Endpoint(metrics, "127.0.0.1", 0) as endpoint:
        with urlopen(endpoint.address) as answer:  # noqa: S310 - of this machine
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert read(answer.read().decode()) == {("turns_total", ()): 1.0}
        with pytest.raises(HTTPError, match="404"):
            urlopen(endpoint.address + "/other")  # noqa: S310 - of this machine


def test_a_port_that_is_taken_is_an_error() -> None:
    """An address at which nobody can listen is told before anything is run."""
    with Endpoint(Metrics(), "127.0.0.1", 0) as endpoint:
        port = int(endpoint.address.split(":")[2].split("/")[0])
        with pytest.raises(AgentProblem) as caught:
            Endpoint(Metrics(), "127.0.0.1", port)
    error: Any = caught.value
    assert error.code == "A109"
