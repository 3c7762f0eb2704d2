"""Names, and what binds them."""

from __future__ import annotations

import pytest

from solvent.lang.lenient_parser import read_leniently
from solvent.lsp.occurrences import Occurrences
from solvent.source import Source


def _occurrences(text: str) -> Occurrences:
    read = read_leniently(Source(text))
    return Occurrences(read.tree, text, read.lexemes)


@pytest.mark.parametrize(
    "text",
    [
        "let «max» = replace x, y by x if x >= y in <2, «m|ax», (3, «max»)>",
        "let max = replace «x»::int, y by «x|» if «x» >= y in <max>",
        "<replace ?«w», x by <«|w»>>",
        "<replace «w|»?, x by «w»>",
        "<replace +«w», x by «|w»>",
        "<replace «x», «|x» by «x»>",
        "<replace x by replace y by «|x» if (y > 1)>".replace("replace x", "replace «x»"),
        "let «m» = replace x by x in <replace-one <«|m» = r> by 1>",
        "<replace-one <m = «r»> by «|r»>",
        "<(«m» = replace x by x), replace-one <«|m» = r> by 1>",
        "let rec «m» = replace x by «|m» in <«m»>",
        "let «a» = replace x by x in let b = replace y by «a|» in <b>",
        "<«T1» : <SRC : <>, SRV : s>, T2 : <SRC : <«|T1»>, SRV : s>>",
    ],
)
def test_all_places_of_a_name(text: str) -> None:
    """A name under the pointer has one definition, the first marked place, and all marked places are the same."""
    plain = text.replace("«", "").replace("»", "").replace("|", "")
    marked, at, pointer, opened = [], 0, 0, 0
    for char in text:
        if char == "«":
            opened = at
        elif char == "»":
            marked.append((opened, at))
        elif char == "|":
            pointer = at
        else:
            at += 1
    names = _occurrences(plain)
    found = names.at(pointer)
    assert found is not None
    assert found.definition is not None
    assert [(one.start, one.end) for one in names.of(found.definition)] == marked


@pytest.mark.parametrize("text", ["<(1 + 2) . string()>", "<string(3)>", '<"a".string().string()>'])
def test_functions_are_found_where_their_names_stand(text: str) -> None:
    """A call is found at its name, also behind a dot."""
    called = [one for one in _occurrences(text).all if one.is_called]
    assert [text[one.start : one.end] for one in called] == ["string"] * text.count("string")


def test_what_is_known_at_a_place() -> None:
    """At a place the names of enclosing rules and lets are known, of two with one name the inner one."""
    text = "let a = replace x, y by replace x::int by x in <a>"
    names = _occurrences(text)
    inner = {one.name: one.start for one in names.known_at(text.rindex("x"))}
    assert inner == {"x": text.index("x::"), "y": text.index("y")} | {"a": 4}
    assert [one.name for one in names.known_at(text.index("<a>"))] == ["a"]


def test_a_variable_outside_of_its_rule_has_no_definition() -> None:
    """A name that nothing binds is found, without a definition."""
    text = "<(replace x by 1), x>"
    found = _occurrences(text).at(text.rindex("x"))
    assert found is not None
    assert found.definition is None
