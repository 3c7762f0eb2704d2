"""One machine, its inbox and its effects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from solvent.net import Host, Hub, Journal
from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    Effects,
    NodeId,
    Report,
    Save,
    SetTimer,
    TimerFired,
)
from tests.loop import in_loop
from tests.unit.net.scripted import Listener, Scripted, table, until

if TYPE_CHECKING:
    from pathlib import Path

A = NodeId(0)


@in_loop
async def test_a_record_is_safe_before_anything_is_said(tmp_path: Path) -> None:
    """Whoever hears what follows a `Save` finds it in the file."""
    path, sizes = tmp_path / "j", dict[str, int]()
    listener = Listener()
    told = listener.told
    listener.told = lambda outcome: (sizes.setdefault(outcome, path.stat().st_size), told(outcome))[1]  # type: ignore[method-assign]
    machine = Scripted(table(go=(Report("before"), Save("record"), Report("after"), Save("last"))))
    host = Host(machine, Hub().transport(A), application=listener, journal=Journal(path, str))
    await host.start()
    host.request("go")
    await listener.hears("before", "after")
    assert sizes["before"] < sizes["after"]
    await host.stop()
    assert Journal(path, str).open().saved == ("record", "last")


@in_loop
async def test_a_burst_of_steps_is_written_at_once(tmp_path: Path) -> None:
    """Records of many steps are in the file with the first report of the burst: they were written together."""
    path, listener = tmp_path / "j", Listener()
    machine = Scripted(lambda what: (Save(what), Report(path.stat().st_size)))
    host = Host(machine, Hub().transport(A), application=listener, journal=Journal(path, int))
    await host.start()
    for number in range(50):
        host.request(number)
    await until(lambda: len(listener.outcomes) == 50)
    # The size at each step, before the turn's end: it grows far less often than there are steps.
    assert len(set(listener.outcomes)) < 25
    await host.stop()


@in_loop
async def test_timers_fire_and_are_cancelled() -> None:
    """A timer fires once; one that is set anew or cancelled does not fire as it was."""

    def effects_of(what: Any) -> Effects:
        if what == "go":
            timers = SetTimer("long", 100_000), SetTimer("gone", 1), CancelTimer("gone"), CancelTimer("none")
            return (*timers, SetTimer("short", 100_000), SetTimer("short", 5))
        return (Report(what),)

    listener = Listener()
    host = Host(Scripted(effects_of), Hub().transport(A), application=listener)
    await host.start()
    host.request("go")
    await listener.hears(TimerFired("short"))
    await host.stop()


@in_loop
async def test_a_timer_that_has_run_out_can_still_be_cancelled() -> None:
    """A timer that ran out while the machine was busy does not fire after the machine cancelled it."""
    listener = Listener()
    host = Host(Scripted(table(cancel=(CancelTimer("t"), Report("done")))), Hub().transport(A))
    host._application = listener
    await host.start()
    host.request("cancel")
    # Run out now, behind the request in the inbox.
    host._set_timer("t", 0)
    host._timers["t"].cancel()
    host._on_timer("t")
    await listener.hears("done")
    await asyncio.sleep(0)
    assert host.state == ((), 0, "cancel")
    await host.stop()


@in_loop
async def test_chance_chooses_before_the_next_event() -> None:
    """The answer to a `Choose` comes before events that were there already."""
    host = Host(Scripted(table(go=(Choose(1), Choose(1)))), Hub().transport(A))
    await host.start()
    host.request("go")
    host.request("next")
    await until(lambda: len(host.state) == 6)
    assert host.state[2:] == ("go", Chosen(0), Chosen(0), "next")
    await host.stop()


@in_loop
async def test_an_answer_comes_before_the_next_event() -> None:
    """A question is asked after what was reported before it, and its answer is the machine's next event."""
    listener = Listener()
    listener.answer = lambda question: (question, tuple(listener.outcomes))
    host = Host(Scripted(table(go=(Report("r"), Ask("q")))), Hub().transport(A), application=listener)
    await host.start()
    host.request("go")
    host.request("next")
    await until(lambda: len(host.state) == 5)
    assert host.state[2:] == ("go", Answered(("q", ("r",))), "next")
    await host.stop()


@in_loop
async def test_an_answer_that_takes_time_holds_nothing_up() -> None:
    """While an answer is awaited the machine takes other events."""
    answer = asyncio.get_running_loop().create_future()
    listener = Listener(lambda _: answer)
    host = Host(Scripted(table(go=(Ask("q"),), next=(Report("next"),))), Hub().transport(A), application=listener)
    await host.start()
    host.request("go")
    host.request("next")
    await listener.hears("next")
    answer.set_result("late")
    await until(lambda: len(host.state) == 5)
    assert host.state[2:] == ("go", "next", Answered("late"))
    await host.stop()


@in_loop
async def test_answers_keep_the_order_of_the_questions() -> None:
    """An answer that is there before that to an earlier question waits for it."""
    slow = asyncio.get_running_loop().create_future()
    quick = asyncio.get_running_loop().create_future()
    quick.set_result("quick")
    answers = {"q1": slow, "q2": quick, "q3": "at once"}
    host = Host(Scripted(table(go=(Ask("q1"), Ask("q2"), Ask("q3")))), Hub().transport(A))
    host._application = Listener(answers.__getitem__)
    await host.start()
    host.request("go")
    await until(lambda: len(host.state) == 3)
    for _ in range(5):
        await asyncio.sleep(0)
    assert host.state[2:] == ("go",)
    slow.set_result("slow")
    await until(lambda: len(host.state) == 6)
    assert host.state[3:] == (Answered("slow"), Answered("quick"), Answered("at once"))
    await host.stop()
