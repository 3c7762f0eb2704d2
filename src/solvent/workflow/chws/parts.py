"""One chemical service as it is written: its molecules, the rules it names, the rules that stand in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from solvent.chemistry.molecule import Symbol
from solvent.chemistry.syntax import (
    Expression,
    Literal,
    LiteralPattern,
    Name,
    RuleNode,
    SolutionNode,
    SolutionPattern,
    TupleNode,
    TuplePattern,
    VariablePattern,
)
from solvent.hocl.nearest import nearest
from solvent.workflow.chws.words import FLAGS, IGNORED, MOLECULES, NAMES, RULES, RUNNING
from solvent.workflow.hoclflow.conditions import print_condition
from solvent.workflow.hoclflow.reading import Reader

if TYPE_CHECKING:
    from solvent.chemistry.syntax import Node, Pattern

_CHOICE = "`(replace-one value by COND_PASS : 1, DEST : ChWS5 if value > 3)`"
_DATA = "`replace RESULT : ChWS1 : value by CALL : S2, PARAM : <value>`"


class Choice(msgspec.Struct):
    """A rule that sends the result onwards if a condition holds of it."""

    node: Any
    takes: str
    """The molecule that it takes."""
    is_given_back: bool
    when: str | None
    destinations: list[str]


class Data(msgspec.Struct):
    """A rule that says what the service is called with."""

    node: Any
    results: dict[str, str]
    """The services it takes from, by the variable for their result."""
    variables: dict[str, str]
    """The global variables it reads, by the variable for their value."""
    call: str | None
    params: list[Any]


class Part(msgspec.Struct):
    """All that stands in the solution of one service."""

    name: str
    node: Any
    rules: dict[str, Any] = {}
    destinations: dict[str, Any] = {}
    choices: list[Choice] = []
    data: list[Data] = []
    call: str | None = None
    params: list[Any] = []
    lists: dict[str, list[Any]] = {}
    sources: dict[str, Any] = {}
    """SYNC_SRC and SYNCMG_SRC, where they stand."""
    how: str | None = None
    flags: dict[str, Any] = {}
    cancel_to: Any = None
    messages: list[Any] = []


class PartReader(Reader):
    """Reads the solution of one service."""

    def part(self, first: Node, inside: SolutionNode) -> Part:
        """Read one service."""
        found = Part(self.name(first, "a chemical service"), first)
        for one in inside.items:
            if isinstance(one, Name):
                self._rule_name(found, one)
            elif isinstance(one, RuleNode):
                self._rule(found, one)
            else:
                self._molecule(found, one)
        return found

    def molecule(self, node: Expression) -> tuple[str, Expression]:
        """Read `WORD : value`; words may be written as the paper prints them, `Dest` for `DEST`."""
        first, rest = self.pair(node, "a molecule of a chemical service")
        return (self.word(first) or "").upper(), rest

    def service_names(self, node: Node, what: str) -> tuple[str, ...]:
        """Read names of services, leaving out the rest that a paper writes at the end."""
        items = self.solution(node, what)
        return tuple(self.name(one, f"each item of {what}") for one in items if not isinstance(one, Name))

    def _rule_name(self, part: Part, node: Name) -> None:
        if node.text in ("ω", "w"):
            return
        if node.text not in RULES:
            hint = nearest(node.text, RULES) or f"such as {', '.join(RULES[:3])}"
            self.fail(
                node, f"`{part.name}` holds `{node.text}`, which is no rule of the library", code="W103", hint=hint
            )
        part.rules[node.text] = node

    def _molecule(self, part: Part, node: Expression) -> None:
        word, rest = self.molecule(node)
        if word in RUNNING:
            message = f"`{word}` comes up while a workflow runs, and does not stand in its text"
            self.fail(node, message, code="W105")
        if word not in MOLECULES:
            hint = nearest(word, MOLECULES) or f"known: {', '.join(MOLECULES)}"
            self.fail(node, f"`{part.name}` has no molecule `{word or 'of this form'}`", code="W103", hint=hint)
        if word == "DEST":
            name = self.name(rest, "DEST")
            if name in part.destinations:
                self.fail(rest, f"`DEST : {name}` stands here a second time", code="W102")
            part.destinations[name] = rest
            return
        if word in part.flags:
            self.fail(node, f"`{word}` stands here a second time", code="W102")
        part.flags[word] = rest
        match word:
            case "CALL":
                part.call = self.name(rest, "CALL")
            case "PARAM":
                part.params = self.solution(rest, "PARAM")
            case "LIST1" | "LIST2":
                items = rest.items if isinstance(rest, SolutionNode) else self.list(rest)
                part.lists[word] = [self.value(one) for one in items]
            case "CANCEL_CHWS":
                part.cancel_to = rest
            case "CANCEL":
                part.messages = [self._message(one) for one in self.solution(rest, word) if not isinstance(one, Name)]
            case _ if word in NAMES:
                self._sources_of(part, word, rest)
            case _ if word in IGNORED:
                self.solution(rest, word)
            case _:
                self._flag(part, word, rest)

    def _message(self, node: Expression) -> Any:
        if isinstance(node, TupleNode) and self.word(node.parts[0]) in ("ERROR", "Error"):
            return self.value(self.pair(node, "ERROR")[1])
        return self.value(node)

    def _sources_of(self, part: Part, word: str, node: Expression) -> None:
        names: list[str] = []
        for name in self.service_names(node, word):
            if name in ("DOT", "CROSS"):
                part.how = name.lower()
            else:
                names.append(name)
        part.sources[word] = names

    def _flag(self, part: Part, word: str, node: Expression) -> None:
        if isinstance(node, TupleNode) and word == "COND_PASS":
            node = node.parts[-1]
        known = FLAGS[word]
        value = node.value if isinstance(node, Literal) else None
        shown = value.name if isinstance(value, Symbol) else value
        if isinstance(known, str):
            if not isinstance(shown, str) or shown.capitalize() not in known.split():
                self.fail(node, f"`{word}` is `Yes` or `No`", code="W105")
            if shown.capitalize() == "Yes":
                part.rules["discr_setFlag" if word == "DISCRIMINATOR" else "sm_setFlag"] = node
        elif type(value) is not int or value not in known:
            self.fail(node, f"`{word}` is 1 or 0", code="W105")
        elif value == 0:
            del part.flags[word]

    # --- Rules in place.

    def _rule(self, part: Part, rule: RuleNode) -> None:
        words = {self.molecule(one)[0] for one in rule.product if isinstance(one, TupleNode)}
        if words & {"CALL", "PARAM"}:
            part.data.append(self._data(rule))
        elif words & {"DEST", "COND_PASS"}:
            part.choices.append(self._choice(part, rule))
        else:
            message = f"this rule of `{part.name}` neither sends its result on nor says what it is called with"
            self.fail(rule, message, hint=f"{_CHOICE}, or {_DATA}")

    def _choice(self, part: Part, rule: RuleNode) -> Choice:
        if len(rule.patterns) != 1:
            self.fail(rule, "a way onwards depends on one molecule, the result", hint=_CHOICE)
        (pattern,) = rule.patterns
        variable = self._variable(pattern, _CHOICE)
        takes = variable
        if isinstance(pattern, TuplePattern):
            takes = self._symbol(pattern.parts[0]).upper()
            if takes not in ("RESULT", "COMPLETED") or self._symbol(pattern.parts[1]) != part.name:
                self.fail(pattern, f"a way onwards depends on the result of `{part.name}` itself", hint=_CHOICE)
        choice = Choice(rule, takes, rule.is_inject, None, [])
        for one in rule.product:
            if not isinstance(one, TupleNode):
                choice.is_given_back |= one == Name(variable)
                continue
            self._passed(choice, one)
        if not choice.destinations:
            self.fail(rule, f"this rule of `{part.name}` names no `DEST`", hint=_CHOICE)
        if rule.condition is not None:
            choice.when = print_condition(rule.condition, variable)
        return choice

    def _passed(self, choice: Choice, node: TupleNode) -> None:
        """Read a product of a choice: a destination, the flag, or the result itself, given back."""
        word, rest = self.molecule(node)
        flag = rest.parts[-1] if isinstance(rest, TupleNode) else rest
        if word == "COND_PASS" and isinstance(flag, Literal) and flag.value == 0:
            self.fail(node, "a way with `COND_PASS : 0` is never taken", code="W105", hint="`COND_PASS : 1`")
        match word:
            case "DEST":
                choice.destinations.append(self.name(rest, "DEST"))
            case "COND_PASS" if isinstance(rest, TupleNode):
                choice.destinations.append(self.name(rest.parts[0], "COND_PASS"))
            case "COND_PASS" | "SYNCMG_SRC":
                pass
            case "RESULT" | "COMPLETED":
                choice.is_given_back = True
            case _:
                self.fail(node, f"a way onwards makes no `{word or 'such molecule'}`", code="W103", hint=_CHOICE)

    def _data(self, rule: RuleNode) -> Data:
        if rule.condition is not None:
            self.fail(rule.condition, "a call depends on no condition; a way onwards may", hint=_CHOICE)
        found = Data(rule, {}, {}, None, [])
        for pattern in rule.patterns:
            if not isinstance(pattern, TuplePattern):
                self.fail(pattern, "a call takes results and global variables", hint=_DATA)
            word = self._symbol(pattern.parts[0])
            variable = self._variable(pattern, _DATA)
            if word.upper() in ("RESULT", "COMPLETED") and len(pattern.parts) == 3:
                found.results[variable] = self._symbol(pattern.parts[1])
            elif len(pattern.parts) == 2:
                found.variables[variable] = word
            else:
                self.fail(pattern, "a call takes results and global variables", hint=_DATA)
        for one in rule.product:
            word, rest = self.molecule(one)
            if word == "CALL":
                found.call = self.name(rest, "CALL")
            elif word == "PARAM":
                found.params = self.solution(rest, "PARAM")
            elif word != "FLAG_INVOKE":
                self.fail(one, f"a call makes no `{word or 'such molecule'}`", code="W103", hint=_DATA)
        return found

    def _variable(self, pattern: Pattern, hint: str) -> str:
        last = pattern.parts[-1] if isinstance(pattern, TuplePattern) else pattern
        if isinstance(last, SolutionPattern) and len(last.items) == 1:
            last = last.items[0]
        if isinstance(last, VariablePattern):
            return last.name
        self.fail(pattern, "a rule of a service takes results by variables", hint=hint)

    def _symbol(self, pattern: Pattern) -> str:
        if isinstance(pattern, LiteralPattern) and type(pattern.value) is Symbol:
            return str(pattern.value.name)
        self.fail(pattern, "this is the name of a service or a molecule", hint="such as `ChWS1` or `RESULT`")


__all__ = ["Choice", "Data", "Part", "PartReader"]
