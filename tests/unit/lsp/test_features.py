"""The words of the language, each with a sentence."""

from __future__ import annotations

from solvent.lang.builtin import BUILTIN
from solvent.lang.functions import Functions
from solvent.lang.lexer import KEYWORDS
from solvent.lang.rule import KINDS
from solvent.lsp.features import FUNCTIONS, WORDS, describe_kind


def test_every_function_is_in_the_manual() -> None:
    """Every built-in function has a signature and a sentence."""
    assert FUNCTIONS.keys() == BUILTIN.keys()
    assert all(says.endswith(".") for _, says in FUNCTIONS.values())


def test_signatures_have_as_many_arguments_as_functions_take() -> None:
    """The signature of a function names as many arguments as it takes; those in brackets may be left out."""
    for name, (form, _) in FUNCTIONS.items():
        function = Functions().find(name)
        assert function is not None
        arguments = form.removeprefix(f"{name}(").removesuffix(")").split(", ")
        if "..." in arguments:
            assert function.max_arity is None
        else:
            needed = [one for one in arguments if not one.startswith("[")]
            assert (function.min_arity, function.max_arity) == (len(needed), len(arguments)), name


def test_every_keyword_is_in_the_manual() -> None:
    """Every keyword has a form and a sentence."""
    assert WORDS.keys() == KEYWORDS | {"rec"}


def test_every_kind_is_described() -> None:
    """Every kind of molecules has a sentence, which names its other names."""
    assert describe_kind("int") == "A kind of molecules; also `BigInteger`, `Integer`, `Long`, `long`."
    assert all(map(describe_kind, KINDS))
