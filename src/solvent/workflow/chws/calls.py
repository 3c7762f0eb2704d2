"""What a chemical service calls, and with what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from solvent.chemistry.syntax import Name
from solvent.workflow.chws.words import CROSSES, DOTS
from solvent.workflow.model import Argument, Arrived, Each, Input, Result, Value

if TYPE_CHECKING:
    from solvent.workflow.chws.parts import Data, Part
    from solvent.workflow.chws.reading import ServicesReader

_NUMBERED = re.compile(r"ChWS(\w+)")


class Calls:
    """The call of one service that joins its sources in some way."""

    def __init__(self, reader: ServicesReader, part: Part, join: str | None, sources: list[str]) -> None:
        self._reader = reader
        self._part = part
        self._join = join
        self._sources = sources

    def service(self) -> str:
        """Give the service that is called: the one that CALL names, or the one of the same number."""
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

    def arguments(self) -> tuple[Argument, ...]:
        """Give the arguments: constants and lists, then what rules take, or all that arrives."""
        part = self._part
        given = [self._constant(one) for one in part.params]
        given += [Value(items) for _, items in sorted(part.lists.items())]
        if part.data:
            return (*given, *self._from_rules(part.data))
        match self._join:
            case "first" | "any":
                return (*given, Arrived())
            case "active":
                return (*given, Arrived("all"))
        return (*given, *map(Result, self._sources))

    def each(self, arguments: tuple[Argument, ...]) -> Each | None:
        """Give the composition over all that are results or lists."""
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
            if isinstance(one, Result) or (isinstance(one, Value) and any(one.value is items for items in lists))
        ]
        if not over:
            self._reader.fail(part.node, f"`{part.name}` has no lists to combine", code="W105")
        return Each(how, tuple(over))

    def _constant(self, node: Any) -> Argument:
        word = self._reader.word(node)
        if word in self._reader.variables:
            return Input(word)
        return self._reader.argument(node, in_order=False)

    def _from_rules(self, rules: list[Data]) -> tuple[Argument, ...]:
        """Give the arguments that rules say: of one rule as they are; of several, whatever arrived."""
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
            return self._of(data, {name: Result(source) for name, source in data.results.items()})
        found = [self._of(data, dict.fromkeys(data.results, Arrived())) for data in rules]
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

    def _of(self, data: Data, results: dict[str, Any]) -> tuple[Argument, ...]:
        bound = results | {name: Input(variable) for name, variable in data.variables.items()}
        return tuple(
            bound[one.text] if isinstance(one, Name) and one.text in bound else self._constant(one)
            for one in data.params
        )


__all__ = ["Calls"]
