"""Wrong usage and bad input: each a clear message and the right exit code, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from solvent.cli.main import COMMANDS, main
from tests.cli.command import EXAMPLES, MAX, MAX_SECONDS, arguments, environment, solvent
from tests.cli.forking import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WRONG = {
    "<1, 2": "is not closed",
    "<1, 2)": "must be closed first",
    "<1, (2, 3>": "",
    "let max = replace x, y by x if x >= y in <1, mx>": "did you mean `max`?",
    "let r = replace x by z in <r>": "`z` is used but no pattern binds it",
    "<1, replace x, y by x if x > y>": "needs parentheses",
    '<"abc': "a string is not closed",
    "<1, 2 /* no end": "",
    "": "there is no program here",
    "<1 / 0>": "division by zero",
    "<no_such(1)>": "there is no function `no_such`",
    "<" * 10_000: "nested more than",
    "<" * 10_000 + ">" * 10_000: "nested more than",
    "(" * 10_000 + "1" + ")" * 10_000: "nested more than",
    "<" + "-" * 10_000 + "1>": "nested more than",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:40] or "empty")
@pytest.mark.parametrize("command", ["run", "check"])
def test_wrong_program(command: str, text: str) -> None:
    """A wrong program gets its place, the reason and exit code 2."""
    result = solvent(command, "-", typed=text)
    assert (result.code, "<stdin>:" in result.err) == (2, True)
    assert WRONG[text] in result.err


@pytest.mark.parametrize("command", ["run", "trace", "explore", "check", "fmt"])
def test_file_that_is_not_text(tmp_path: Path, command: str) -> None:
    """A file that is not text is named, with its first wrong byte."""
    file = tmp_path / "picture.hocl"
    file.write_bytes(b"<1, 2>\n\xff\xfe\x00")
    result = solvent(command, file)
    assert result.code == 2
    assert "is not text: byte 7" in result.err


def test_standard_input_that_is_not_text() -> None:
    """Standard input that is not text is an error too."""
    assert solvent("run", "-", typed=b"\xff").code == 2


@pytest.mark.parametrize("command", ["run", "check", "fmt"])
def test_file_of_50_megabytes(tmp_path: Path, command: str) -> None:
    """A file that is too large is refused at once."""
    file = tmp_path / "large.hocl"
    file.write_text("<1" + ", 12345678" * 5_000_000 + ">")
    result = solvent(command, file)
    assert result.code == 2
    assert "characters; a program may have" in result.err


@pytest.mark.parametrize("command", ["run", "trace", "explore", "check", "fmt"])
def test_missing_file(tmp_path: Path, command: str) -> None:
    """A missing file and a folder are errors with a reason."""
    missing = solvent(command, tmp_path / "none.hocl")
    assert (missing.code, "there is no file `" in missing.err) == (2, True)
    folder = solvent(command, tmp_path)
    assert (folder.code, "directory" in folder.err) == (2, True)


def test_overview() -> None:
    """`solvent --help` lists every command and some examples; alone, `solvent` says the same and fails."""
    asked, alone = solvent("--help"), solvent()
    assert (asked.code, alone.code) == (0, 2)
    assert asked.out == alone.err
    assert all(f"  {command} " in asked.out for command in COMMANDS)
    groups = ["workflows:", "runs:", "agents:", "language:", "other:"]
    assert [line for line in asked.out.splitlines() if line in groups] == groups


@pytest.mark.parametrize(
    "words", [("run",), ("run", "--agents", "1"), ("run", "--input", "n=1"), ("check",), ("convert",)]
)
@pytest.mark.parametrize("name", ["flwo.yaml", "flwo.hocl", "flwo.py", "flwo"])
def test_misspelt_file(tmp_path: Path, words: tuple[str, ...], name: str) -> None:
    """A file that does not exist gets the same answer from every command, with the nearest name that there is."""
    (tmp_path / "flow.yaml").write_text("tasks: {}\n")
    said = solvent(*words, name, cwd=tmp_path).err.splitlines()
    assert said[0].partition("]: ")[2] == f"there is no file `{name}`"
    assert said[1:] in (["  hint: did you mean `flow.yaml`?"], [])


def test_unknown_command() -> None:
    """A command that is nearly right is recognised."""
    result = solvent("exlpore")
    assert (result.code, "did you mean `explore`?" in result.err) == (2, True)
    assert "solvent run x.hocl" in solvent("x.hocl").err


@pytest.mark.parametrize(
    "words, says, hint",
    [
        ("run - --sede 3", "there is no option `--sede`", "did you mean `--seed`?"),
        ("run --sede=3", "there is no option `--sede`", "did you mean `--seed`?"),
        ("run flow.yaml --agents 2 --imput n=1", "there is no option `--imput`", "did you mean `--input`?"),
        ("status --stor runs.db", "there is no option `--stor`", "did you mean `--store`?"),
        ("agents list --formt json", "there is no option `--formt`", "did you mean `--format`?"),
        ("check --xyzzy", "there is no option `--xyzzy`", "`solvent check --help` lists the options"),
        ("status --format jsn", "`--format` cannot be `jsn`", "did you mean `json`?"),
        ("run - --transport best", "`--transport` cannot be `best`", "one of: tcp, nats"),
        ("agents lst", "there is no command `solvent agents lst`", "did you mean `list`?"),
    ],
)
def test_misspelt_words(words: str, says: str, hint: str) -> None:
    """A misspelt option, value or word of a command is answered with the nearest one."""
    result = solvent(*words.split(), typed=MAX)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error[H319]: {says}\n")
    assert result.err.endswith(f"\n  hint: {hint}\n")


@pytest.mark.parametrize(
    "words, says",
    [
        ("check", "`solvent check` needs `FILE`"),
        ("why max.hocl 9 10", "`solvent why` does not take `10`"),
        ("run", "`solvent run` needs `FILE`"),
        ("run - --seed", "`--seed` needs a value"),
        ("run - --seed x", "`--seed` must be an integer, not `x`"),
        ("run - --max-reactions -1", "`--max-reactions` must be an integer of at least 1, not `-1`"),
        ("run - --max-reactions 0", "`--max-reactions` must be above 0; leave it out for no limit"),
        ("run - --max-seconds nan", "`--max-seconds` must be a number of seconds above 0, such as 0.5, not `nan`"),
        ("run - --max-seconds 0", "`--max-seconds` must be above 0; leave it out for no limit"),
    ],
)
def test_wrong_usage(words: str, says: str) -> None:
    """Wrong arguments are an error as any other: what is wrong, what to do, and exit code 2."""
    result = solvent(*words.split(), typed=MAX)
    assert (result.code, result.out) == (2, "")
    first, hint = result.err.splitlines()
    assert (first, hint.startswith("  hint: ")) == (f"error[H319]: {says}", True)


def test_reader_that_goes_away() -> None:
    """A reader that closes its end of the pipe causes no complaint."""
    text = "<" + ", ".join(map(str, range(100_000))) + ">"
    process = subprocess.Popen(
        arguments("run", "-"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(text.encode())
    process.stdin.close()
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(200) == 0


def test_output_that_cannot_show_a_character() -> None:
    """A terminal without Unicode costs no result."""
    done = subprocess.run(
        arguments("run", "-"),
        input='<"é → ω">'.encode(),
        capture_output=True,
        env={**environment(), "PYTHONIOENCODING": "ascii"},
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b'<"\\xe9 \\u2192 \\u03c9">\n')


@pytest.mark.parametrize("words", [("web",), ("store", "serve")])
def test_port_that_there_is_not(words: tuple[str, ...]) -> None:
    """A number that is no port is refused, and is not taken for another one."""
    result = solvent(*words, "--port", "99999")
    assert (result.code, "`--port` must be a port from 0 to 65535, not `99999`" in result.err) == (2, True)


@pytest.mark.parametrize("store", ["postgres://x", "rubbish.db"])
def test_page_of_what_is_no_store(tmp_path: Path, store: str) -> None:
    """A page of what cannot be a store does not begin to serve."""
    (tmp_path / "rubbish.db").write_text("this is no database")
    result = solvent("web", "--port", "0", "--store", store, cwd=tmp_path)
    assert (result.code, result.out, "error[E401]" in result.err) == (2, "", True)


@pytest.mark.parametrize("command", [*COMMANDS, "no-such-command"])
def test_wrong_usage_is_one_object(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An option that there is none of is told in one line of standard error, and the exit code is 2."""
    assert main([command, "--no-such-option", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err)["error"]["code"] == "H319"


def test_text_is_what_is_written_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the option errors are for people, also after a command that had it."""
    main(["run", "missing.hocl", "--format", "json"])
    capsys.readouterr()
    assert main(["run", "missing.hocl"]) == 2
    assert capsys.readouterr().err.startswith("error[H304]: there is no file `missing.hocl`")


WORKFLOW = ROOT / "examples" / "workflows" / "first" / "morning.py"
HIDDEN = "import sys; sys.modules['fcntl'] = None; from solvent.cli.main import main; sys.exit(main(sys.argv[1:]))"


def _without_fcntl(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    known = {**environment(), "SOLVENT_STORE": str(folder / "store.db")}
    command = [sys.executable, "-c", HIDDEN, *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=MAX_SECONDS, check=False, env=known, cwd=folder
    )


@pytest.mark.parametrize(
    "words",
    [("run", WORKFLOW), ("status",), ("doctor",), ("agent",), ("submit", WORKFLOW), ("web",)],
    ids=lambda words: words[0],
)
def test_a_system_without_fcntl_is_told_so(words: tuple[object, ...], tmp_path: Path) -> None:
    """Without `fcntl` a command that needs it says what is missing and what to do, and ends with 2."""
    done = _without_fcntl(*words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error[H129]: this system does not have `fcntl`, a part of Python that this command needs\n"
        "  hint: run it on Linux; on Windows that can be WSL or a container\n"
    )


def test_the_error_is_json_on_demand(tmp_path: Path) -> None:
    """With `--format json` the same error is a line of JSON."""
    done = _without_fcntl("status", "--format", "json", folder=tmp_path)
    assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (2, "H129")


@pytest.mark.parametrize("words", [(EXAMPLES / "maximum" / "maximum.hocl",), (WORKFLOW, "--store", "none")])
def test_what_is_not_recorded_needs_no_fcntl(words: tuple[object, ...], tmp_path: Path) -> None:
    """A program in HOCL, and a workflow that is not recorded, run without `fcntl`."""
    assert _without_fcntl("run", *words, folder=tmp_path).returncode == 0


def test_the_package_claims_the_systems_it_runs_on() -> None:
    """The package's metadata name Linux, on which everything is tested, and no other system."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    found = [one for one in classifiers if one.startswith("Operating System")]
    assert found == ["Operating System :: POSIX :: Linux"]
