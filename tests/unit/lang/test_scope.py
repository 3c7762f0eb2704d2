"""Names: every one bound once, none free; and what rules take from around them."""

from __future__ import annotations

import pytest

import solvent
from solvent.lang.functions import Functions
from tests.unit.lang.complaint import complaint, error_of

CONSTANT = "a constant starts with an upper-case letter; a text stands in double quotes"


@pytest.mark.parametrize(
    "text, place, hint",
    [
        ("<1, colour>", "1:5", CONSTANT),
        ("let max = replace x, y by x in <mx>", "1:33", "did you mean `max`?"),
        ("<first>", "1:2", "`first` is a function: call it, `first(...)`"),
        ("let r = replace x by in <r>, x", "1:30", CONSTANT),
    ],
)
def test_unknown_rule(text: str, place: str, hint: str) -> None:
    """Outside all rules a lower-case name is a rule's, or an error."""
    assert complaint(text) == ("H201", place, hint)


@pytest.mark.parametrize(
    "text, place, note, hint",
    [
        ("replace x by y", "1:14", "bound here: x", ""),
        ("let greatest = replace x, z by x, y if x >= z in <greatest>", "1:35", "bound here: x, z", ""),
        ("replace <x, ?w> by x, v", "1:23", "bound here: x, w", ""),
        ("replace number by numbr", "1:19", "bound here: number", "did you mean `number`?"),
        ("replace x by x if y", "1:19", "bound here: x", ""),
        ("replace x by <x : y>", "1:19", "bound here: x", ""),
        ("replace 1 by y", "1:14", "no pattern binds anything here", ""),
        ("inject y", "1:8", "no pattern binds anything here", ""),
    ],
)
def test_unbound_variable(text: str, place: str, note: str, hint: str) -> None:
    """A variable that no pattern binds is told which ones are bound."""
    assert complaint(text) == ("H203", place, hint)
    assert error_of(text).note == note


@pytest.mark.parametrize("text", ["replace <?w> by w : 1", "replace <?w> by w + 1", "replace <?w>, x by x if w == x"])
def test_rest_where_one_molecule_stands(text: str) -> None:
    """A rest cannot stand where one molecule must."""
    code, _, hint = complaint(text)
    assert (code, hint) == ("H202", "put it into a solution or a list: `<w>`, `list(w)`")


@pytest.mark.parametrize(
    "text, hint",
    [
        ('<lenght("a")>', "did you mean `length`?"),
        ('<"a".lenght()>', "did you mean `length`?"),
        ("<qqqq(1)>", "functions of your own come from Python: `--functions MODULE.py`"),
    ],
)
def test_unknown_function(text: str, hint: str) -> None:
    """A function that does not exist is told the closest that does, or where functions come from."""
    assert complaint(text) == ("H204", "1:2", hint)


@pytest.mark.parametrize("text", ["let rule = replace x by in <rule(1)>", "replace it by it(1)"])
def test_calling_what_is_no_function(text: str) -> None:
    """A rule or a variable cannot be called."""
    code, _, hint = complaint(text)
    assert code == "H205"
    assert hint.startswith("separate molecules by commas: `")


@pytest.mark.parametrize(
    "text, message",
    [
        ("<first((1, 2), 2)>", "`first` takes 1 argument, not 2"),
        ("<replace x by first()>", "`first` takes 1 argument, not 0"),
        ('<substring("a")>', "`substring` takes 2 to 3 arguments, not 1"),
        ('<"a".first(1)>', "`first` takes 1 argument, not 2 (the value before the dot counts)"),
    ],
)
def test_wrong_number_of_arguments(text: str, message: str) -> None:
    """A function is called with as many arguments as it takes."""
    error = error_of(text)
    assert (error.code, error.message) == ("H206", message)


def test_registered_function_may_be_called() -> None:
    """A function of the host program is known by its name, and its arguments are counted."""
    functions = Functions()
    functions.register(lambda one: one, "mine")
    solvent.hocl.parse("<mine(1)>", functions=functions)
    with pytest.raises(solvent.NameProblem) as caught:
        solvent.hocl.parse("<mine()>", functions=functions)
    assert caught.value.code == "H206"


@pytest.mark.parametrize("text", ["replace x, ?x by 1", "replace ?x, x by 1", "replace <?w>, <?w> by w"])
def test_name_bound_as_a_rest_and_otherwise(text: str) -> None:
    """A rest's name is bound once."""
    code, _, hint = complaint(text)
    assert (code, hint) == ("H209", "give the rest a name of its own")


@pytest.mark.parametrize(
    "text, code",
    [
        # A multiplet is several molecules, so it stands where several can; so is a `let` around two.
        ("<(1^2) : 3>", "H207"),
        ("replace x by x : (x^2)", "H207"),
        ("replace x by 1 + (x^2)", "H207"),
        ("replace x by (let r = replace y by y in r, r) : 1", "H208"),
        # A `let` ends with its body, and does not know its own name.
        ("<(let r = replace x by in r), r>", "H201"),
        ("let a = replace x by a in <a>", "H203"),
        # A rest is a list for a function that takes a fixed number of arguments, and so counts once.
        ("replace <?w> by max(w)", "H206"),
    ],
)
def test_wrong_places(text: str, code: str) -> None:
    """What cannot stand where it does is refused."""
    assert complaint(text)[0] == code


@pytest.mark.parametrize(
    "text",
    [
        "replace x, x, <x> by x",
        "let a = replace x by in let b = replace x by a in <b>",
        "let rec a = replace-one x by a in <a>",
        "replace <?w> by len(w), list(w, w)",
    ],
)
def test_names_that_are_known(text: str) -> None:
    """A variable may stand twice, a let knows those before it, a `let rec` itself, and a rest is one argument."""
    solvent.hocl.parse(text)
