"""Whatever is killed, stopped, cut off or full: a run ends with the right results, and nothing is done again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.live import agents_damage, agents_faults, agents_networks

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.live.agents_faults import Outcome

SHORT = (agents_faults.launcher_killed, agents_faults.clocks_jump)
LONG = (
    agents_faults.all_agents_killed,
    agents_faults.agent_killed,
    agents_faults.each_agent_killed,
    agents_faults.killed_again_and_again,
    agents_faults.dies_halfway,
    agents_networks.node_killed,
    agents_networks.leader_killed,
    agents_networks.agent_unheard,
    agents_damage.cut_file,
)
MAX_LEASES = 2.0
SEEDS = range(1, 4)


def _is_well(outcome: Outcome) -> None:
    assert outcome.wrong == []


@pytest.mark.parametrize("fault", SHORT, ids=lambda one: one.__name__)
def test_a_run_survives(fault: Callable[[str, int], Outcome]) -> None:
    """It ends with the results of an embedded run, and no call is made whose answer is there."""
    _is_well(fault("", 1))


def test_one_that_was_stopped_does_not_act() -> None:
    """Stopped for longer than the lease, it begins no call that another agent makes by then, and is of use again."""
    outcome = agents_faults.agent_stopped("", 1)
    _is_well(outcome)
    assert outcome.again


def test_a_torn_write_costs_nothing() -> None:
    """Half of a write at the end of the file is no record, and all that was acknowledged is there."""
    _is_well(agents_damage.torn_write("", 1))


def test_a_full_disk_is_waited_for() -> None:
    """Agents do nothing while nothing can be written, and go on when there is room."""
    try:
        outcome = agents_damage.disk_full("", 1)
    except OSError as error:
        pytest.skip(f"no small disk can be made here: {error}")
    _is_well(outcome)


def test_a_server_that_comes_again_has_everything() -> None:
    """Killed and started again, it has what it acknowledged, and agents have waited."""
    _is_well(agents_networks.server_killed("", 1))


def test_one_that_is_cut_off_does_not_act() -> None:
    """Its connection is cut for longer than the lease: others go on with its tasks, and it does not."""
    outcome = agents_networks.agent_cut_off("", 1)
    _is_well(outcome)
    assert outcome.again


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", [*SHORT, *LONG], ids=lambda one: one.__name__)
def test_a_run_survives_often(fault: Callable[[str, int], Outcome], seed: int) -> None:
    """The same with other workflows, and what takes longer."""
    outcome = fault("", seed)
    print(f"seed {seed}: {outcome}")
    _is_well(outcome)


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_hosts_that_are_cut_off(seed: int) -> None:
    """Agents on three hosts: one loses its cable, another its agent."""
    if not agents_networks.can_make_hosts():
        pytest.skip("the system does not let this process make networks")
    _is_well(agents_networks.host_cut_off("", seed))


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_an_agent_is_replaced_within_two_leases(seed: int) -> None:
    """Somebody goes on with the tasks of an agent that was killed; some see nothing of it, as it had no calls out."""
    outcome = agents_faults.agent_killed("", seed)
    _is_well(outcome)
    assert max(outcome.leases, default=0.0) <= MAX_LEASES


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_is_presumed_dead_on_a_busy_machine(seed: int) -> None:
    """With a lease of two seconds and eight processes that take all they can get, nobody loses a place."""
    _is_well(agents_faults.busy_machine("", seed))


# --- What the tests would find.


@pytest.mark.soak
def test_an_agent_that_ignores_conflicts_is_found() -> None:
    """One that was replaced and goes on as if it were not makes calls that others make, and nobody knows it."""
    outcome = agents_faults.agent_stopped("", 1, "deaf")
    assert any("called again" in one or "not marked" in one for one in outcome.wrong), outcome


@pytest.mark.soak
def test_an_agent_that_does_not_look_whether_it_may_act_is_found() -> None:
    """It begins, when it goes on, what it has in its queue."""
    outcome = agents_faults.agent_stopped("", 1, "heedless")
    assert any("another agent's" in one for one in outcome.wrong)


@pytest.mark.soak
def test_an_agent_that_calls_before_it_notes_is_found() -> None:
    """When it is killed in between, calls were made of which nobody knows."""
    outcome = agents_faults.killed_again_and_again("", 1, "hasty")
    assert any("announced it 0 times" in one for one in outcome.wrong)


@pytest.mark.soak
def test_an_agent_that_forgets_letters_is_found() -> None:
    """Who takes a place over and does not say again what may not have been said leaves others waiting."""
    seeds = iter(range(1, 10))
    while not agents_faults.dies_halfway("", next(seeds), "forgetful").wrong:
        pass
