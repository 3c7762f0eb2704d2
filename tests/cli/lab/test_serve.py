"""`solvent lab serve`: the words after it, and what is wrong with them."""

from __future__ import annotations

import pytest

from solvent.cli.main import main
from solvent_lab.cli.serve import PROTOCOLS

ANYWHERE = ("--listen", "0.0.0.0:0")
NO_FOLDER = ("--state", "/dev/null/node")


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each protocol tells its own options and those of all."""
    assert main(["lab", "serve", name, "--help"]) == 0
    said = capsys.readouterr().out
    assert "--journal FILE" in said or "--journal DIR" in said or "--state DIR" in said
    assert f"solvent lab serve {name}" in said


@pytest.mark.parametrize(
    "arguments,said",
    [
        (["tokn"], "did you mean `token`?"),
        ([], "error[H319]: `solvent lab serve` needs `PROTOCOL`"),
        (["capture", *NO_FOLDER, "--listen", "here"], "error[N104]"),
        (["capture", *NO_FOLDER, "--listen", "127.0.0.1:99999"], "error[N104]"),
        (["capture", *NO_FOLDER, "--secret-file", "/nowhere/at/all"], "error[N120]"),
        (["token", "--peers", "here"], "error[N105]"),
        # What is wrong beside that keeps a node that should not start from starting.
        (["capture", *ANYWHERE, *NO_FOLDER], "error[S210]"),
        (["capture", *ANYWHERE, *NO_FOLDER, "--no-secret"], "error[N140]"),
    ],
)
def test_bad_input_is_a_clear_error(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong is told in one line, with exit code 2."""
    monkeypatch.delenv("SOLVENT_SECRET", raising=False)
    assert main(["lab", "serve", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["capture", *ANYWHERE, *NO_FOLDER],
        ["token", "--join", "example.org:7000"],
    ],
)
def test_a_missing_secret_is_asked_for_by_its_options(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever serves beyond this machine without a secret reads which options of the command help."""
    monkeypatch.delenv("SOLVENT_SECRET", raising=False)
    assert main(["lab", "serve", *arguments]) == 2
    said = capsys.readouterr().err
    assert "`--secret-file FILE`" in said
    assert "`--no-secret`" in said
    assert "secret=" not in said
