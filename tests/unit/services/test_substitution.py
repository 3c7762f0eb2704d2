"""Arguments in commands and addresses."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.services.substitution import NoArgument, command_of, fill, names_in, text_of

WORDS = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def printed(template: str, *arguments: object, **keywords: object) -> str:
    """Run a command with arguments and give what it prints."""
    command, parameters = command_of(template, arguments, keywords)
    words = ["/bin/sh", "-c", command, "sh", *parameters]
    return subprocess.run(words, capture_output=True, check=True).stdout.decode()


def test_arguments_stand_where_they_are_named() -> None:
    """Numbers stand for arguments, names for keywords, as often as they occur."""
    assert printed("printf '%s|' {1} {name} {0} {1}", "a", "b c", name="d") == "b c|d|a|b c|"


def test_a_list_becomes_several_words() -> None:
    """Each item of a list is a word of its own; an empty list is no word."""
    assert printed("printf '%s|' {0} {1} end", ["a b", 2, None], []) == "a b|2||end|"


@pytest.mark.parametrize("text", ["awk '{print $1}'", "${HOME}", "find -exec ls {} +", "{a,b}", "x{ 0 }"])
def test_other_braces_stay(text: str) -> None:
    """Braces that are no placeholders are left alone."""
    assert command_of(text, ["x"], {}) == (text, [])


def test_doubled_braces_are_the_text_itself() -> None:
    """`{{0}}` is the text `{0}`."""
    assert command_of("echo {{0}} {{name}}", [], {}) == ("echo {0} {name}", [])


def test_more_than_nine_parameters() -> None:
    """The eleventh argument is not the first one with a 1 behind."""
    assert printed("printf %s {10}", *range(20, 40)) == "30"


@pytest.mark.parametrize("word", ["{0}", '"{0}"', "'{0}'", '"$(printf %s "{0}")"'])
def test_quotes_around_a_placeholder_do_no_harm(word: str) -> None:
    """Whether a placeholder stands in quotes or not, the argument arrives as it is, and is never run."""
    nasty = """a  b'c"d $(echo run) `echo run` $HOME \\ ; * # {0}"""
    assert printed(f"printf %s {word}", nasty) == nasty


@given(WORDS)
def test_any_text_arrives_unchanged(text: str) -> None:
    """Whatever an argument holds reaches the command as one word."""
    assert printed("printf '<%s>' {0}", text) == f"<{text}>"


@pytest.mark.parametrize("name", ["1", "missing"])
def test_a_missing_argument_is_named(name: str) -> None:
    """A placeholder without an argument says which one it is."""
    with pytest.raises(NoArgument) as caught:
        fill(f"x {{{name}}}", ["a"], {"b": 1})
    assert str(caught.value) == f"it needs the argument {{{name}}}, which the call does not have"


def test_values_as_text() -> None:
    """Text stays, nothing is empty, truth and structures are JSON, numbers are themselves."""
    values = ["a", b"b", None, True, [1, "x"], {"k": None}, 1.5, {1, 2} & {1}]
    assert [text_of(value) for value in values] == ["a", "b", "", "true", '[1, "x"]', '{"k": null}', "1.5", "{1}"]


def test_names_in_a_text() -> None:
    """The names of a text are those that it asks for."""
    assert names_in("{0}/{name}/{{not}}/${NOR}/{ nor }") == {"0", "name"}
