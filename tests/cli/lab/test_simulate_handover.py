"""`solvent lab simulate handover`: its figures, its words, and wrong usage."""

from __future__ import annotations

import json

import pytest

from solvent.cli.main import main

QUICK = ("--peers", "8", "--cycles", "3", "--seed", "1", "--processes", "0")


@pytest.mark.parametrize("mode", ["peer", "server"])
def test_json_gives_the_papers_times_and_messages_first(capsys: pytest.CaptureFixture[str], mode: str) -> None:
    """The four figures of the experiments come first; more follow."""
    words = ["--bytes", "52428800", "--locked", "5", "--wblocked", "0", "--leaving", "0.25", "--mode", mode]
    assert main(["lab", "simulate", "handover", *QUICK, *words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found)[:4] == ["cycle", "wait", "blocking", "messages_per_cycle"]
    assert found["cycle"] == pytest.approx(found["wait"] + 5)
    assert found["blocking"] == found["wait"]
    assert (found["cycles"], found["mode"], found["runs"], found["seed"]) == (18, mode, 1, 1)
    assert found["departures"] >= 2


def test_text_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes may have units; what is fetched by nobody has no line."""
    words = ["--bytes", "1.5MiB", "--leaving", "0.5", "--platform", "site"]
    assert main(["lab", "simulate", "handover", *QUICK, *words]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "8 peers, 4 of them come and go; 1.5 MiB; peer; site\n12 cycles of those who stay, in seconds:\n"
    )
    assert "  blocking  " in out
    assert "  fetch     " in out
    assert main(["lab", "simulate", "handover", *QUICK, "--mode", "server", "--bytes", "100"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("8 peers; 100 bytes; server; grid5000\n")
    assert "  fetch     " not in out


@pytest.mark.parametrize("words, said", [
    (["--bytes", "many"], "must be a number of bytes from 1, such as 52428800 or 50MiB, not `many`"),
    (["--bytes", "0"], "must be a number of bytes from 1, such as 52428800 or 50MiB, not `0`"),
    (["--leaving", "2"], "must be a number from 0 to 1, not `2`"),
    (["--leaving", "1"], "all peers come and go"),
    (["--leaving", "0.5", "--pause", "0"], "`pause` is 0"),
    (["--locked", "soon"], "must be a number of seconds, such as 0.5, not `soon`"),
    (["--pause", "3"], "`--pause` is about peers that come and go, and none does"),
    (["--leavers", "drop"], "`--leavers` is about peers that come and go"),
    (["--mode", "server", "--order", "3"], "`--order` is about the lock without a server"),
    (["--mode", "server", "--exchange-every", "3"], "`--exchange-every` is about the lock"),
])  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """What is wrong is said with exit code 2."""
    assert main(["lab", "simulate", "handover", *QUICK, *words]) == 2
    assert said in capsys.readouterr().err
