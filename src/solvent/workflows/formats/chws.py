"""Chemical services: workflows in the notation of INRIA technical report 7610, sections 4 and 5.

    <
      ChWS1 : <CALL : S1, PARAM : <3>, DEST : ChWS2, DEST : ChWS3, passInfo, preparePass, invokeServ>,
      ChWS2 : <DEST : ChWS4, passInfo, preparePass, invokeServ>,
      ChWS3 : <DEST : ChWS4, passInfo, preparePass, invokeServ>,
      ChWS4 : <SYNC_SRC : <ChWS2, ChWS3>, SYNC_INBOX : <>, synchronize, sync_setFlag, invokeServ>
    >

The rules in a service's solution say what it does. They are read into the one model of a workflow, so the same rules
run both notations:

    preparePass, passInfo                       its result goes to every DEST
    synchronize, sync_setFlag, SYNC_SRC         joins all
    discr_setFlag                               joins the first;    discr_preparePass in each source
    sm_setFlag                                  joins any;          sm_preparePass in each source
    syncMerge, syncMg_setFlag                   joins all that are active; syncMg_preparePass in each source
    mm_reset, mm_lockReset, lockReset_End       joins any, once more for each arrival; RESET holds its first state
    passInfoCond                                its result goes where a rule with COND_PASS sends it
    passInfoCancel, CANCEL_CHWS : ChWS9         if it fails, ChWS9 takes over and the case ends, cancelled
    dotProduct, crossProduct                    called for each combination of the items of lists

`(replace-one value by COND_PASS : 1, DEST : ChWS5 if value > 3)` is a way onwards. Rules that take the same molecule
exclude each other; rules that take others, or give back what they took, may apply side by side. A rule such as
`replace RESULT : ChWS1 : value by CALL : S2, PARAM : <value>` says what a service is called with; without one, that is
PARAM, then what arrived. `LIMIT : 3 ^ inf` at the top is a global variable, which such rules and PARAM may name.
SERVICE, INPUT, RESULTS and WORKFLOW are those of HOCLflow. A service without CALL calls the one of its own number:
ChWS4 calls S4. A solution that names none of the rules has those that every service has: invokeServ, preparePass,
passInfo.

Rules that consume the same molecule exclude each other: the first that reacts takes it. Where each of them leads to one
service, that is a split to `one`. All other cases are a split to `some`, with conditions that say the same: a rule that
is excluded by others holds only where those do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import ProgramError, WorkflowProblem, nearest
from solvent.lang import syntax
from solvent.lang.molecule import Symbol
from solvent.lang.parser import parse_molecules, parse_program
from solvent.source import Source
from solvent.workflows import model
from solvent.workflows.formats.hoclflow.reader import Reader
from solvent.workflows.formats.hoclflow.values import print_condition
from solvent.workflows.places import Loaded

if TYPE_CHECKING:
    from solvent.workflows.formats.hoclflow.values import ValueReader

JOINS = {"sync_setFlag": "all", "discr_setFlag": "first", "sm_setFlag": "first", "syncMg_setFlag": "active"}
"""The rules that let a service start, and how it joins then."""

PREPARES = {
    "discr_setFlag": "discr_preparePass",
    "sm_setFlag": "sm_preparePass",
    "syncMg_setFlag": "syncMg_preparePass",
}
"""What the sources of a service with such a rule hold."""

GATHERS = {"sync_setFlag": "synchronize", "syncMg_setFlag": "syncMerge"}
"""What gathers the arrivals that such a rule looks at."""

PREPARING = ("preparePass", *PREPARES.values())

RESETS = ("mm_reset", "mm_lockReset", "lockReset_End", "mm_lockReset_End", "reset", "lockReset")

DOTS = ("dotProduct",)

CROSSES = (
    "crossProduct", "crossProduct_start", "crossProduct_list2End", "list2End", "crossProduct_end", "crossProductEnd",
)  # fmt: skip

RULES = (
    "invokeServ", "passInfo", "passInfoCond", "passInfoCancel", "addResult", *PREPARING, *JOINS, *GATHERS.values(),
    *RESETS, *DOTS, *CROSSES,
)  # fmt: skip
"""Every rule that a service may hold by its name."""

NAMES = ("SYNC_SRC", "SYNCMG_SRC")

IGNORED = ("SYNC_INBOX", "SYNCMG_INBOX", "RESET", "DOTPRODUCT", "CROSSPRODUCT")
"""Where the rules put what they gather; their content at the start says nothing."""

FLAGS = {"FLAG_INVOKE": (0, 1), "LOCKED": (0, 1), "COND_PASS": (0, 1), "DISCRIMINATOR": "Yes No", "MERGE": "Yes No"}

RUNNING = ("PASS", "RESULT", "COMPLETED", "SUCCESS_PASS", "ERROR", "CROSSLIST1", "CROSSLIST2")
"""What comes up only while a workflow runs."""

MOLECULES = ("DEST", "CALL", "PARAM", "CANCEL", "CANCEL_CHWS", "LIST1", "LIST2", *NAMES, *IGNORED, *FLAGS)

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

    def part(self, first: syntax.Node, inside: syntax.SolutionNode) -> Part:
        """Read one service."""
        found = Part(self.name(first, "a chemical service"), first)
        for one in inside.items:
            if isinstance(one, syntax.Name):
                self._rule_name(found, one)
            elif isinstance(one, syntax.RuleNode):
                self._rule(found, one)
            else:
                self._molecule(found, one)
        return found

    def molecule(self, node: syntax.Expression) -> tuple[str, syntax.Expression]:
        """Read `WORD : value`; words may be written as the paper prints them, `Dest` for `DEST`."""
        first, rest = self.pair(node, "a molecule of a chemical service")
        return (self.word(first) or "").upper(), rest

    def service_names(self, node: syntax.Node, what: str) -> tuple[str, ...]:
        """Read names of services, leaving out the rest that a paper writes at the end."""
        items = self.solution(node, what)
        return tuple(self.name(one, f"each item of {what}") for one in items if not isinstance(one, syntax.Name))

    def _rule_name(self, part: Part, node: syntax.Name) -> None:
        if node.text in ("ω", "w"):
            return
        if node.text not in RULES:
            hint = nearest(node.text, RULES) or f"such as {', '.join(RULES[:3])}"
            self.fail(
                node, f"`{part.name}` holds `{node.text}`, which is not a rule of the library", code="W103", hint=hint
            )
        part.rules[node.text] = node

    def _molecule(self, part: Part, node: syntax.Expression) -> None:
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
                items = rest.items if isinstance(rest, syntax.SolutionNode) else self.list(rest)
                part.lists[word] = [self.value(one) for one in items]
            case "CANCEL_CHWS":
                part.cancel_to = rest
            case "CANCEL":
                part.messages = [
                    self._message(one) for one in self.solution(rest, word) if not isinstance(one, syntax.Name)
                ]
            case _ if word in NAMES:
                self._sources_of(part, word, rest)
            case _ if word in IGNORED:
                self.solution(rest, word)
            case _:
                self._flag(part, word, rest)

    def _message(self, node: syntax.Expression) -> Any:
        if isinstance(node, syntax.TupleNode) and self.word(node.parts[0]) in ("ERROR", "Error"):
            return self.value(self.pair(node, "ERROR")[1])
        return self.value(node)

    def _sources_of(self, part: Part, word: str, node: syntax.Expression) -> None:
        names: list[str] = []
        for name in self.service_names(node, word):
            if name in ("DOT", "CROSS"):
                part.how = name.lower()
            else:
                names.append(name)
        part.sources[word] = names

    def _flag(self, part: Part, word: str, node: syntax.Expression) -> None:
        if isinstance(node, syntax.TupleNode) and word == "COND_PASS":
            node = node.parts[-1]
        known = FLAGS[word]
        value = node.value if isinstance(node, syntax.Literal) else None
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

    def _rule(self, part: Part, rule: syntax.RuleNode) -> None:
        words = {self.molecule(one)[0] for one in rule.product if isinstance(one, syntax.TupleNode)}
        if words & {"CALL", "PARAM"}:
            part.data.append(self._data(rule))
        elif words & {"DEST", "COND_PASS"}:
            part.choices.append(self._choice(part, rule))
        else:
            message = f"this rule of `{part.name}` neither sends its result on nor says what it is called with"
            self.fail(rule, message, hint=f"{_CHOICE}, or {_DATA}")

    def _choice(self, part: Part, rule: syntax.RuleNode) -> Choice:
        if len(rule.patterns) != 1:
            self.fail(rule, "a way onwards depends on one molecule, the result", hint=_CHOICE)
        (pattern,) = rule.patterns
        variable = self._variable(pattern, _CHOICE)
        takes = variable
        if isinstance(pattern, syntax.TuplePattern):
            takes = self._symbol(pattern.parts[0]).upper()
            if takes not in ("RESULT", "COMPLETED") or self._symbol(pattern.parts[1]) != part.name:
                self.fail(pattern, f"a way onwards depends on the result of `{part.name}` itself", hint=_CHOICE)
        choice = Choice(rule, takes, rule.is_inject, None, [])
        for one in rule.product:
            if not isinstance(one, syntax.TupleNode):
                choice.is_given_back |= one == syntax.Name(variable)
                continue
            self._passed(choice, one)
        if not choice.destinations:
            self.fail(rule, f"this rule of `{part.name}` names no `DEST`", hint=_CHOICE)
        if rule.condition is not None:
            choice.when = print_condition(rule.condition, variable)
        return choice

    def _passed(self, choice: Choice, node: syntax.TupleNode) -> None:
        """Read a product of a choice: a destination, the flag, or the result itself, given back."""
        word, rest = self.molecule(node)
        flag = rest.parts[-1] if isinstance(rest, syntax.TupleNode) else rest
        if word == "COND_PASS" and isinstance(flag, syntax.Literal) and flag.value == 0:
            self.fail(node, "a way with `COND_PASS : 0` is never taken", code="W105", hint="`COND_PASS : 1`")
        match word:
            case "DEST":
                choice.destinations.append(self.name(rest, "DEST"))
            case "COND_PASS" if isinstance(rest, syntax.TupleNode):
                choice.destinations.append(self.name(rest.parts[0], "COND_PASS"))
            case "COND_PASS" | "SYNCMG_SRC":
                pass
            case "RESULT" | "COMPLETED":
                choice.is_given_back = True
            case _:
                self.fail(node, f"a way onwards makes no `{word or 'such molecule'}`", code="W103", hint=_CHOICE)

    def _data(self, rule: syntax.RuleNode) -> Data:
        if rule.condition is not None:
            self.fail(rule.condition, "a call depends on no condition; a way onwards may", hint=_CHOICE)
        found = Data(rule, {}, {}, None, [])
        for pattern in rule.patterns:
            if not isinstance(pattern, syntax.TuplePattern):
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

    def _variable(self, pattern: syntax.Pattern, hint: str) -> str:
        last = pattern.parts[-1] if isinstance(pattern, syntax.TuplePattern) else pattern
        if isinstance(last, syntax.SolutionPattern) and len(last.items) == 1:
            last = last.items[0]
        if isinstance(last, syntax.VariablePattern):
            return last.name
        self.fail(pattern, "a rule of a service takes results by variables", hint=hint)

    def _symbol(self, pattern: syntax.Pattern) -> str:
        if isinstance(pattern, syntax.LiteralPattern) and type(pattern.value) is Symbol:
            return str(pattern.value.name)
        self.fail(pattern, "this is the name of a service or a molecule", hint="such as `ChWS1` or `RESULT`")


def split_of(part: Part, reader: ValueReader) -> dict[str, Any]:
    """Return how a service splits, in the words of a control."""
    if not part.choices:
        return {}
    # In a solution order means nothing, so a rule without condition is what is left when the others do not hold.
    choices = sorted(part.choices, key=lambda choice: choice.when is None)
    _check_reachable(choices, reader)
    is_exclusive = len({one.takes for one in choices}) == 1 and not any(one.is_given_back for one in choices)
    leads_to = [name for one in choices for name in one.destinations]
    is_plain = all(len(one.destinations) == 1 for one in choices) and len(set(leads_to)) == len(leads_to)
    if is_exclusive and is_plain and not part.destinations:
        routes = [
            model.Route(one.destinations[0], None if one.when is None else model.Test(one.when)) for one in choices
        ]
        return {"split": "one", "routes": tuple(routes)}
    holds: dict[str, list[str]] = {}
    for at, one in enumerate(choices):
        when = _when(one, choices[:at])
        for name in one.destinations:
            holds.setdefault(name, []).append(when)
    always = ["true"] if "passInfo" in part.rules else [one.when or "true" for one in choices]
    for name in part.destinations:
        holds.setdefault(name, []).extend(always)
    return {
        "split": "some",
        "routes": tuple(model.Route(name, model.Test(_either(whens))) for name, whens in holds.items()),
    }


def _check_reachable(choices: list[Choice], reader: ValueReader) -> None:
    seen: set[str] = set()
    for one in choices:
        if one.when is None and not one.is_given_back:
            if one.takes in seen:
                reader.fail(one.node, "two rules without a condition take the same molecule", hint="add `if ...`")
            seen.add(one.takes)


def _when(choice: Choice, earlier: list[Choice]) -> str:
    """Return the condition of a choice that holds only where those that take the same molecule do not."""
    parts: list[str] = []
    if not choice.is_given_back:
        parts = [
            f"!({one.when})" for one in earlier if one.takes == choice.takes and not one.is_given_back and one.when
        ]
    if choice.when is not None:
        parts.append(choice.when if not parts else f"({choice.when})")
    return _common(" && ".join(parts) or "true")


def _either(whens: list[str]) -> str:
    if "true" in whens:
        return "true"
    different = list(dict.fromkeys(whens))
    return different[0] if len(different) == 1 else _common(" || ".join(f"({when})" for when in different))


def _common(when: str) -> str:
    return print_condition(parse_molecules(Source(f"({when})"))[0])


_NUMBERED = re.compile(r"ChWS(\w+)")


class Calls:
    """The call of one service that joins its sources in some way."""

    def __init__(self, reader: ServicesReader, part: Part, join: str | None, sources: list[str]) -> None:
        self._reader = reader
        self._part = part
        self._join = join
        self._sources = sources

    def service(self) -> str:
        """Return the service that is called: the one that CALL names, or the one of the same number."""
        part = self._part
        named = list(dict.fromkeys([part.call, *(data.call for data in part.data)]))
        calls = [call for call in named if call is not None]
        if len(calls) > 1:
            self._reader.fail(part.node, f"`{part.name}` calls both `{calls[0]}` and `{calls[1]}`", code="W105")
        if calls:
            return calls[0]
        number = _NUMBERED.fullmatch(part.name)
        if number is None:
            self._reader.fail(
                part.node, f"`{part.name}` does not say what it calls", code="W104", hint="add `CALL : S1`"
            )
        return f"S{number[1]}"

    def arguments(self) -> tuple[model.Argument, ...]:
        """Return the arguments: constants and lists, then what rules take, or all that arrives."""
        part = self._part
        given = [self._constant(one) for one in part.params]
        given += [model.Value(items) for _, items in sorted(part.lists.items())]
        if part.data:
            return (*given, *self._from_rules(part.data))
        match self._join:
            case "first" | "any":
                return (*given, model.Arrived())
            case "active":
                return (*given, model.Arrived("all"))
        return (*given, *map(model.Result, self._sources))

    def each(self, arguments: tuple[model.Argument, ...]) -> model.Each | None:
        """Return the composition over all that are results or lists."""
        part = self._part
        how: Any = part.how
        for name, rules in (("dot", DOTS), ("cross", CROSSES)):
            if any(rule in part.rules for rule in rules):
                how = name
        if how is None:
            return None
        lists = list(part.lists.values())
        over = [
            at
            for at, one in enumerate(arguments)
            if isinstance(one, model.Result)
            or (isinstance(one, model.Value) and any(one.value is items for items in lists))
        ]
        if not over:
            self._reader.fail(part.node, f"`{part.name}` has no lists to combine", code="W105")
        return model.Each(how, tuple(over))

    def _constant(self, node: Any) -> model.Argument:
        word = self._reader.word(node)
        if word in self._reader.variables:
            return model.Input(word)
        return self._reader.argument(node, in_order=False)

    def _from_rules(self, rules: list[Data]) -> tuple[model.Argument, ...]:
        """Return the arguments that rules say: of one rule as they are; of several, whatever arrived."""
        for data in rules:
            for name in data.results.values():
                if name not in self._sources:
                    message = f"`{self._part.name}` takes from `{name}`, but `{name}` has no `DEST : {self._part.name}`"
                    self._reader.fail(data.node, message, code="W108")
            for name in data.variables.values():
                if name not in self._reader.variables:
                    message = f"`{name}` is no global variable"
                    self._reader.fail(data.node, message, code="W122", hint=f"add `{name} : 3 ^ inf` at the top")
        if len(rules) == 1:
            (data,) = rules
            self._check_waits(data)
            return self._of(data, {name: model.Result(source) for name, source in data.results.items()})
        found = [self._of(data, dict.fromkeys(data.results, model.Arrived())) for data in rules]
        if any(one != found[0] for one in found) or any(len(data.results) != 1 for data in rules):
            message = f"several rules of `{self._part.name}` call it in different ways"
            self._reader.fail(rules[1].node, message, code="W105", hint="each takes one result, to the same place")
        return found[0]

    def _check_waits(self, data: Data) -> None:
        """Insist that a rule that alone says whom to wait for takes from all sources."""
        missing = [name for name in self._sources if name not in data.results.values()]
        if missing and self._join is None and "SYNC_SRC" not in self._part.sources:
            message = (
                f"`{missing[0]}` passes to `{self._part.name}`, but the rule that calls it does not take its result"
            )
            self._reader.fail(data.node, message, code="W108")

    def _of(self, data: Data, results: dict[str, Any]) -> tuple[model.Argument, ...]:
        bound = results | {name: model.Input(variable) for name, variable in data.variables.items()}
        return tuple(
            bound[one.text] if isinstance(one, syntax.Name) and one.text in bound else self._constant(one)
            for one in data.params
        )


_MAY_BE = re.compile(r"\bChWS|\binvokeServ\b")

_HINT = "`<ChWS1 : <DEST : ChWS2, invokeServ, preparePass, passInfo>, ...>`"


def is_chws(source: Source) -> bool:
    """Return whether a text is a solution of chemical services."""
    # A text without these words is none, and is not read twice.
    if _MAY_BE.search(source.text) is None:
        return False
    try:
        body = parse_program(source).body
    except ProgramError:
        return False
    return any(_is_service(one) for one in _molecules(body))


def _molecules(body: list[syntax.Expression]) -> list[syntax.Expression]:
    """Return the molecules of the main solution; the paper leaves out its brackets."""
    return body[0].items if len(body) == 1 and isinstance(body[0], syntax.SolutionNode) else body


def _is_service(node: syntax.Expression) -> bool:
    if (
        not isinstance(node, syntax.TupleNode)
        or len(node.parts) != 2
        or not isinstance(node.parts[1], syntax.SolutionNode)
    ):
        return False
    first, inside = node.parts[0], node.parts[1].items
    name = str(getattr(first.value, "name", "")) if isinstance(first, syntax.Literal) else ""
    heads = [one.parts[0] for one in inside if isinstance(one, syntax.TupleNode)]
    if any(str(getattr(one.value, "name", "")) == "SRV" for one in heads if isinstance(one, syntax.Literal)):
        return False
    return name.startswith("ChWS") or any(isinstance(one, syntax.Name) and one.text in RULES for one in inside)


def read(source: Source, *, name: str = "workflow") -> Loaded:
    """Make the workflow that a solution of chemical services describes; `name` is its name if the text gives none."""
    body = parse_program(source).body
    reader = ServicesReader(source)
    molecules = _molecules(body)
    if not any(_is_service(one) for one in molecules):
        reader.fail(body[0], "this is no solution of chemical services", hint=_HINT)
    return Loaded(reader.services(molecules, name), reader.places)


class ServicesReader(PartReader):
    """Reads one text."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.parts: dict[str, Part] = {}
        self.senders: dict[str, list[str]] = {}
        self.variables: dict[str, int | None] = {}
        """The global variables, and how often each can be read."""

    def services(self, molecules: list[syntax.Expression], name: str) -> model.Workflow:
        """Read the main solution."""
        services: list[model.Service] = []
        inputs: dict[str, Any] = {}
        results: tuple[str, ...] = ()
        for one in molecules:
            if isinstance(one, syntax.Multiplet):
                self._global(one.item, one, inputs)
                continue
            first, rest = self.pair(one, "a molecule of the main solution")
            match self.word(first):
                case "WORKFLOW":
                    name = self.name(rest, "WORKFLOW")
                case "SERVICE":
                    services.append(self._service(rest))
                case "INPUT":
                    self._input(rest, inputs)
                case "RESULTS":
                    results = self.names(rest, "RESULTS")
                    self.places |= {("result", result): self.span(rest) for result in results}
                case _ if isinstance(rest, syntax.SolutionNode):
                    part = self.part(first, rest)
                    self._place("task", part.name, first)
                    self.parts[part.name] = part
                case _:
                    self._global(one, None, inputs)
        self._find_senders()
        self._check_preparing()
        tasks = [self._task_of(part) for part in self.parts.values()]
        alternatives = self._cancellations(tasks)
        self._check_readers(tasks)
        return model.Workflow(name, tuple(tasks), tuple(services), alternatives, inputs, results)

    def _global(self, node: syntax.Expression, multiplet: syntax.Multiplet | None, inputs: dict[str, Any]) -> None:
        """Read `LIMIT : 3 ^ 4`: a variable that can be read four times."""
        first, rest = self.pair(node, "a global variable")
        name = self.name(first, "a global variable")
        self._place("input", name, first)
        inputs[name] = self.value(rest)
        self.variables[name] = 1
        if multiplet is not None:
            count = multiplet.count
            if count is not None and not (isinstance(count, syntax.Literal) and type(count.value) is int):
                self.fail(count, "how often a global variable can be read is a whole number, or `inf`", code="W105")
            self.variables[name] = None if count is None else count.value

    def _check_readers(self, tasks: list[model.Task]) -> None:
        for name, count in self.variables.items():
            readers = [task.name for task in tasks if model.Input(name) in task.slots]
            if count is not None and len(readers) > count:
                said = "once" if count == 1 else f"{count} times"
                message = f"`{name}` can be read {said}, but these read it: {', '.join(readers)}"
                hint = f"`{name} : ... ^ inf` never runs out"
                raise WorkflowProblem("W105", message, span=self.places["input", name], hint=hint)

    # --- Who passes to whom.

    def _find_senders(self) -> None:
        for part in self.parts.values():
            named = [(name, node) for name, node in part.destinations.items()]
            named += [(name, choice.node) for choice in part.choices for name in choice.destinations]
            if part.cancel_to is not None:
                self._check_known(part, self.name(part.cancel_to, "CANCEL_CHWS"), part.cancel_to)
            for name, node in named:
                self._check_known(part, name, node)
                senders = self.senders.setdefault(name, [])
                if part.name not in senders:
                    senders.append(part.name)

    def _check_known(self, part: Part, name: str, node: Any) -> None:
        if name not in self.parts:
            hint = nearest(name, self.parts)
            message = f"`{part.name}` passes to `{name}`, which is not a chemical service"
            self.fail(node, message, code="W121", hint=hint)

    def _check_preparing(self) -> None:
        """Insist that the rules of a service are enough for what it is to do."""
        for part in self.parts.values():
            if not part.rules:
                continue
            if "invokeServ" not in part.rules:
                self.fail(part.node, f"`{part.name}` never calls its service", hint="add the rule `invokeServ`")
            if (part.destinations or part.choices) and not any(rule in part.rules for rule in PREPARING):
                self.fail(part.node, f"`{part.name}` prepares nothing to pass on", hint="add the rule `preparePass`")
            if part.choices and "passInfoCond" not in part.rules:
                self.fail(part.node, f"`{part.name}` passes nothing on a condition", hint="add the rule `passInfoCond`")
            is_open = "passInfo" in part.rules or ("passInfoCond" in part.rules and "COND_PASS" in part.flags)
            if part.destinations and not part.choices and not is_open:
                self.fail(part.node, f"`{part.name}` passes nothing on", hint="add the rule `passInfo`")
            if (part.cancel_to is None) == ("passInfoCancel" in part.rules):
                message = f"in `{part.name}`, `passInfoCancel` and `CANCEL_CHWS` stand together or not at all"
                self.fail(part.node, message)
            self._check_towards(part)

    def _check_towards(self, part: Part) -> None:
        onward = {*part.destinations, *(name for choice in part.choices for name in choice.destinations)}
        for flag, prepare in PREPARES.items():
            waiting = [name for name in onward if flag in self.parts[name].rules]
            if waiting and prepare not in part.rules:
                message = f"`{waiting[0]}` waits for what `{prepare}` sends, but `{part.name}` does not hold it"
                self.fail(part.node, message, code="W108", hint=f"add the rule `{prepare}`")
            if prepare in part.rules and not waiting:
                message = f"`{part.name}` holds `{prepare}`, but passes to nobody who holds `{flag}`"
                self.fail(part.rules[prepare], message, code="W108")

    # --- Tasks.

    def _task_of(self, part: Part) -> model.Task:
        join, sources = self._join_of(part)
        calls = Calls(self, part, join, sources)
        split = split_of(part, self)
        control: dict[str, Any] = split if join in (None, "all") else {"join": join, **split}
        arguments = calls.arguments()
        taken = [slot.task for slot in arguments if hasattr(slot, "task")]
        return model.Task(
            part.name,
            calls.service(),
            arguments,
            each=calls.each(arguments),
            after=tuple(name for name in sources if name not in taken),
            control=model.Control(**control) if control else None,
        )

    def _join_of(self, part: Part) -> tuple[str | None, list[str]]:
        """Return how a service joins, and its sources in order."""
        sources = self.senders.get(part.name, [])
        flags = [rule for rule in JOINS if rule in part.rules]
        if len(flags) > 1:
            message = f"`{part.name}` joins in two ways, by `{flags[0]}` and by `{flags[1]}`"
            self.fail(part.rules[flags[1]], message, code="W105")
        for flag, gather in GATHERS.items():
            if (flag in part.rules) != (gather in part.rules):
                self.fail(part.node, f"in `{part.name}`, `{gather}` and `{flag}` stand together or not at all")
        if "SYNC_SRC" in part.sources:
            sources = self._agreed(part, part.sources["SYNC_SRC"], sources)
        elif "synchronize" in part.rules:
            self.fail(part.node, f"`{part.name}` does not say whom it waits for", hint="add `SYNC_SRC : <...>`")
        is_reset = any(rule in part.rules for rule in RESETS)
        if flags and not (is_reset and flags[0] == "sm_setFlag"):
            return JOINS[flags[0]], sources
        if sources and is_reset:
            return "any", sources
        if len(part.data) > 1:
            return "any", sources
        if len(sources) > 1 and not part.data and "SYNC_SRC" not in part.sources:
            hint = f"add one of {', '.join(JOINS)}, or a rule that takes their results"
            self.fail(
                part.node, f"`{part.name}` does not say how it joins {', '.join(sources)}", code="W104", hint=hint
            )
        return None, sources

    def _agreed(self, part: Part, named: list[str], senders: list[str]) -> list[str]:
        for name in named:
            if name not in senders:
                message = f"`{part.name}` waits for `{name}`, but `{name}` has no `DEST : {part.name}`"
                self.fail(part.flags["SYNC_SRC"], message, code="W108")
        for name in senders:
            if name not in named:
                message = f"`{name}` passes to `{part.name}`, but `SYNC_SRC` does not name it"
                self.fail(part.flags["SYNC_SRC"], message, code="W108", hint=f"add `{name}`")
        return named

    # --- Cancelling.

    def _cancellations(self, tasks: list[model.Task]) -> tuple[model.Alternative, ...]:
        """Make the failure of a service start its CANCEL service, which ends the case if it leads nowhere."""
        found: list[model.Alternative] = []
        for part in self.parts.values():
            if part.cancel_to is None:
                continue
            name = self.name(part.cancel_to, "CANCEL_CHWS")
            found.append(model.Alternative(f"cancel {part.name}", {part.name: name}))
            self._place("alternative", found[-1].name, part.cancel_to)
            at = next(at for at, task in enumerate(tasks) if task.name == name)
            tasks[at] = self._told(tasks[at], part)
        return tuple(found)

    def _told(self, task: model.Task, part: Part) -> model.Task:
        """Return the service that cancels what it is told."""
        told = tuple(map(model.Value, part.messages))
        given = task.arguments
        if told and given and given != told:
            hint = "the messages of several services are the same, or stand in none"
            self.fail(
                part.flags["CANCEL"], f"`{task.name}` is called with something else already", code="W105", hint=hint
            )
        control = task.control
        if not self.parts[task.name].destinations and not self.parts[task.name].choices:
            control = msgspec.structs.replace(control or model.Control(), ends="cancelled")
        return msgspec.structs.replace(task, arguments=told or given, control=control)
