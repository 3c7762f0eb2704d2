"""The text of a YAML or JSON file to plain data, and the way back from a part of the data to its place in the text.

YAML is read by libyaml's composer, whose nodes carry positions. What a word means follows YAML 1.2: only `true` and
`false` are booleans, so that a key `on` and an argument `no` are words, `1:30` is no number of minutes and a date is
text. Keys are always text. Anchors, aliases and merge keys (`<<`) work; an alias inside itself does not.

JSON is read by the standard library, which is fast, and looked through again for places when something is wrong.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from solvent.errors import WorkflowProblem
from solvent.source import Span
from solvent.values.limits import is_nested_too_deeply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.source import Source
    from solvent.workflows.places import Path

MAX_LEVELS = 100
"""How deep lists and mappings may nest."""
MAX_JSON_LEVELS = 200
"""More than in YAML: agents get workflows as JSON, with constants that may have as many levels as a file."""
MAX_VALUES = 10_000_000
"""How many values a file may have when aliases are written out: a few lines can mean billions."""
_MAX_SAFE_LEVELS = 5_000
"""So many levels of YAML fit into the stack of any thread."""

_LEXEME = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None,
          "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}  # fmt: skip
_TEXT_TAG = re.compile(r"(?:&\S+\s+)?!(?:!str)?\s")
_TAG = "tag:yaml.org,2002:"


class Tree:
    """The data of a file, and its places."""

    data: Any
    language = ""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._spans: dict[Path, Span] | None = None

    def span(self, path: Path) -> Span | None:
        """Return the place of a part: of the key of a mapping's entry, of an item of a list."""
        if self._spans is None:
            self._spans = self._find_spans()
        while path and path not in self._spans:
            path = path[:-1]
        return self._spans.get(path)

    def _find_spans(self) -> dict[Path, Span]:
        raise NotImplementedError

    def fail(self, code: str, message: str, *, at: int, end: int | None = None, hint: str = "") -> NoReturn:
        """Raise a problem about a place in the text."""
        raise WorkflowProblem(code, message, span=Span(self.source, at, at + 1 if end is None else end), hint=hint)

    def _fail_unclosed(self, at: int | None) -> None:
        """Raise a problem about a bracket that is not closed, where it is opened; nothing if there is none."""
        if at is not None:
            opening = self.source.text[at]
            message = f"this is not {self.language}: `{opening}` is not closed"
            self.fail("W101", message, at=at, hint=f"add `{_CLOSING[opening]}`")


_CLOSING = {"{": "}", "[": "]"}
_FLOWS = ("while parsing a flow mapping", "while parsing a flow sequence")
_NODE = "while parsing a flow node"
"""How libyaml names the inside of brackets, and what it looks for there."""
_JSON_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_FLOW_PARTS = re.compile(
    r"""(?:(?<=[\[{,:\s])(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'))|(?<=\s)\#[^\n]*|[\[\]{}]""", re.DOTALL
)
"""Quoted texts, comments and brackets inside of brackets of YAML."""


def _unclosed(parts: re.Pattern[str], text: str, end: int) -> int | None:
    """Return where the bracket is opened that is open at the end of the text, or closed there by another kind."""
    opened: list[int] = []
    for part in parts.finditer(text, 0, end):
        if part[0] in _CLOSING:
            opened.append(part.start())
        elif part[0] in "]}" and opened:
            opened.pop()
    rest = text[end:].strip()
    if not opened or (rest and (rest[0] not in "]}" or rest[0] == _CLOSING[text[opened[-1]]])):
        return None
    return opened[-1]


def _unclosed_flow(text: str, start: int) -> int | None:
    """Return `start`, where a bracket is opened, if none of its kind closes it."""
    opened = ""
    for part in _FLOW_PARTS.finditer(text, start):
        if part[0] in _CLOSING:
            opened += part[0]
        elif part[0] in "]}":
            if _CLOSING[opened[-1]] != part[0]:
                return start
            opened = opened[:-1]
            if not opened:
                return None
    return start


# --- JSON.


class JsonTree(Tree):
    """A JSON file."""

    language = "JSON"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        try:
            self.data = json.loads(source.text, object_pairs_hook=self._mapping)
        except json.JSONDecodeError as error:
            self._fail_unclosed(_unclosed(_JSON_PARTS, source.text, error.pos))
            self.fail("W101", f"this is not JSON: {error.msg}", at=min(error.pos, max(0, len(source.text) - 1)))
        except _Duplicate as error:
            self._fail_duplicate(error.args[0])
        except RecursionError:
            self.fail("W101", f"nested more than {MAX_JSON_LEVELS} levels deep", at=0)
        except ValueError as error:
            self.fail("W101", f"this is not JSON that can be read: {error}", at=0)
        if is_nested_too_deeply(self.data, MAX_JSON_LEVELS):
            self.fail("W101", f"nested more than {MAX_JSON_LEVELS} levels deep", at=0)

    @staticmethod
    def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise _Duplicate(_first_repeated([key for key, _ in pairs]))
        return found

    def _fail_duplicate(self, key: str) -> NoReturn:
        seen: set[Path] = set()
        for path, start, end in self._walk():
            if path in seen:
                self.fail("W102", f"`{key}` stands here a second time", at=start, end=end, hint=_RENAME)
            seen.add(path)
        raise AssertionError(key)

    def _find_spans(self) -> dict[Path, Span]:
        return {path: Span(self.source, start, end) for path, start, end in self._walk()}

    def _walk(self) -> list[tuple[Path, int, int]]:
        """Return every entry's key and every item with its place. The text is known to be JSON."""
        found: list[tuple[Path, int, int]] = []
        path: list[str | int] = []
        is_key = False
        for match in _LEXEME.finditer(self.source.text):
            word = match.group()
            if word in "}]":
                path.pop()
                is_key = False
            elif word == ",":
                is_key = isinstance(path[-1], str)
                if not is_key:
                    path[-1] = int(path[-1]) + 1
            elif word == ":":
                is_key = False
            else:
                if is_key:
                    path[-1] = json.loads(word)
                if is_key or not path or isinstance(path[-1], int):
                    found.append((tuple(path), match.start(), match.end()))
                if word in "{[":
                    path.append("" if word == "{" else 0)
                    is_key = word == "{"
        return found


class _Duplicate(ValueError):
    """A key that stands twice in one mapping."""


_RENAME = "give one of them another name, or take it out"


def _first_repeated(keys: list[str]) -> str:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    raise AssertionError(keys)


# --- YAML.


def _may_be_deep(text: str) -> bool:
    """Whether a text may be nested too deeply to put it together: a level is a bracket, or a further column."""
    longest = max(map(len, text.splitlines()), default=0)
    return text.count("[") + text.count("{") + 2 * longest > _MAX_SAFE_LEVELS


class YamlTree(Tree):
    """A YAML file."""

    language = "YAML"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._root = self._compose()
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()
        #: How many values there are, with those of aliases, and how many each node has.
        self._count = 0
        self._sizes: dict[int, int] = {}
        self.data = None if self._root is None else self._value(self._root, 0)

    def _compose(self) -> Any:
        import yaml

        loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        try:
            if _may_be_deep(self.source.text):
                self._check_levels(yaml.parse(self.source.text, Loader=loader))
            return yaml.compose(self.source.text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            if error.context in _FLOWS and error.context_mark is not None:
                self._fail_unclosed(_unclosed_flow(self.source.text, error.context_mark.index))
            mark = error.problem_mark or error.context_mark
            if error.context == _NODE and mark is not None:
                self._fail_unclosed(_unclosed(_FLOW_PARTS, self.source.text, mark.index))
            at = min(mark.index if mark else 0, max(0, len(self.source.text) - 1))
            self.fail("W101", f"this is not YAML: {error.problem or error.context}", at=at, hint=_hint(error.problem))
        except yaml.reader.ReaderError as error:
            self.fail("W101", f"this is not YAML: {error.reason}", at=0)
        except (UnicodeError, RecursionError, ValueError) as error:
            self.fail("W101", f"this is not YAML that can be read: {error}", at=0)

    def _check_levels(self, events: Iterable[Any]) -> None:
        """Refuse what is nested so deeply that putting it together would exhaust the stack of the process."""
        import yaml

        level = 0
        for event in events:
            if isinstance(event, yaml.CollectionStartEvent):
                level += 1
                if level > MAX_LEVELS + 1:
                    self.fail(
                        "W101",
                        f"nested more than {MAX_LEVELS} levels deep",
                        at=event.start_mark.index if event.start_mark else 0,
                    )
            elif isinstance(event, yaml.CollectionEndEvent):
                level -= 1

    def _value(self, node: Any, level: int) -> Any:
        key = id(node)
        if key in self._made:
            self._count += self._sizes[key]
            if self._count > MAX_VALUES:
                self._fail_at(node, "W101", f"aliases make more than {MAX_VALUES:,} values of this file")
            return self._made[key]
        if key in self._open:
            self._fail_at(node, "W101", "an alias stands inside what it is an alias of")
        if level > MAX_LEVELS:
            self._fail_at(node, "W101", f"nested more than {MAX_LEVELS} levels deep")
        tag = node.tag or "!"
        if not tag.startswith(_TAG) and tag != "!":
            self._fail_at(node, "W104", f"the tag `{tag}` means nothing here", hint="leave it out")
        self._open.add(key)
        before, self._count = self._count, self._count + 1
        made: Any
        if node.id == "scalar":
            made = self._scalar(node)
        elif node.id == "sequence":
            made = [self._value(item, level + 1) for item in node.value]
        else:
            made = self._mapping(node, level)
        self._open.discard(key)
        self._made[key] = made
        self._sizes[key] = self._count - before
        return made

    def _mapping(self, node: Any, level: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.id != "scalar":
                self._fail_at(key, "W104", "a key is a word, not a list or a mapping")
            if key.value == "<<" and not key.style:
                merged = {**self._merged(value, level), **merged}
            elif key.value in found:
                self._fail_at(key, "W102", f"`{key.value}` stands here a second time", hint=_RENAME)
            else:
                found[key.value] = self._value(value, level + 1)
        return {**merged, **found} if merged else found

    def _merged(self, node: Any, level: int) -> dict[str, Any]:
        parts = [self._value(one, level + 1) for one in (node.value if node.id == "sequence" else [node])]
        merged: dict[str, Any] = {}
        for part in parts:
            if not isinstance(part, dict):
                self._fail_at(node, "W104", "`<<` takes in a mapping, or a list of mappings")
            merged = {**part, **merged}
        return merged

    def _scalar(self, node: Any) -> Any:
        text = node.value
        if node.style or self._is_called_text(node):
            return text
        try:
            return _plain(text)
        except ValueError:
            self._fail_at(node, "W104", "this number has too many digits")

    def _is_called_text(self, node: Any) -> bool:
        # The composer gives a plain word the tag `str`, just as one that was given it: only the text tells.
        return _TEXT_TAG.match(self.source.text, node.start_mark.index) is not None

    def _fail_at(self, node: Any, code: str, message: str, *, hint: str = "") -> NoReturn:
        self.fail(code, message, at=node.start_mark.index, end=max(node.end_mark.index, 1), hint=hint)

    def _find_spans(self) -> dict[Path, Span]:
        found: dict[Path, Span] = {}
        todo: list[tuple[Path, Any, Any]] = [] if self._root is None else [((), self._root, self._root)]
        entered: set[int] = set()
        while todo:
            path, marked, node = todo.pop()
            found[path] = Span(self.source, marked.start_mark.index, marked.end_mark.index)
            # An alias's contents are placed once, where they are first met: nested aliases would multiply.
            if node.id == "scalar" or id(node) in entered:
                continue
            entered.add(id(node))
            if node.id == "sequence":
                todo += [((*path, at), item, item) for at, item in reversed(list(enumerate(node.value)))]
            else:
                todo += [((*path, key.value), key, value) for key, value in reversed(node.value)]
        return found


def _plain(text: str) -> Any:
    """Return what a word without quotes means."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text.replace(".inf", "inf").replace(".Inf", "inf").replace(".INF", "inf").lstrip("."))
    return text


def _hint(problem: str | None) -> str:
    if problem and "\\t" in problem:
        return "indent by spaces, not by tabs"
    if problem and "mapping values are not allowed" in problem:
        return "a text with `: ` in it needs quotes"
    return ""


def tree_of(source: Source) -> Tree:
    """Read a text as the language that its name says, YAML where it says none."""
    if source.name.endswith(".json"):
        return JsonTree(source)
    return YamlTree(source)
