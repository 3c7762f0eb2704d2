"""What people ask of a film: what is in a solution after so many reactions, what happened, and why a molecule is there.

All answers are bounded, however long the run was: lists come in pages, texts are cut.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

from solvent.runs.replay_index.sheet import ROOT, Kind, Molecule, Role

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 60
"""How many molecules of a solution are shown at once; further ones are asked for."""
MAX_INSIDE = 40
"""Solutions with at most so many molecules are shown with what holds them."""
MAX_OPEN = 8
"""At most so many solutions side by side are shown open; of more, those in which something happens."""
TEXT_SHOWN = 160
NEAR = 12
MAX_FOUND = 60
_MAX_DEPTH = 12
_ROLES = {Role.TAKEN: "taken", Role.KEPT: "kept", Role.CHANGED: "changed", Role.MADE: "made"}
_KINDS = {Kind.NESTED: "nested", Kind.FLAT: "flat", Kind.RULE: "rule"}
_COLUMNS = "id, solution, kind, text, parts, born, died, made, length"


class Viewer:
    """Looks at a film that is finished."""

    def __init__(self, path: Path) -> None:
        # Answers are made by whichever thread is free.
        self._asking = threading.Lock()
        self._base = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        self.about: dict[str, Any] = {
            key: json.loads(value) for key, value in self._ask("SELECT key, value FROM about")
        }
        self.reactions: int = self.about["reactions"]

    def close(self) -> None:
        """Look no more."""
        self._base.close()

    def _ask(self, question: str, *given: Any) -> list[Any]:
        with self._asking:
            return self._base.execute(question, given).fetchall()

    # --- What happened.

    def moment(self, number: int) -> dict[str, Any]:
        """Tell how it is after so many reactions: what the last one was, those around it, and the solution."""
        number = max(0, min(number, self.reactions))
        return {
            "number": number,
            "of": self.reactions,
            "reaction": self.reaction(number) if number else None,
            "near": self.around(number),
            "solution": self.inside(number, ROOT),
        }

    def reaction(self, number: int) -> dict[str, Any]:
        """Tell of a reaction what it took, kept, changed and made."""
        found = self._ask("SELECT number, rule, what, solution, at FROM reaction WHERE number = ?", number)
        if not found:
            raise LookupError(f"there is no reaction {number}: there are {self.reactions:,}")
        told = self._short(found[0])
        text = self._ask("SELECT text FROM rule WHERE name = ?", told["rule"])
        parts: dict[str, list[dict[str, Any]]] = {name: [] for name in _ROLES.values()}
        for role, *row in self._ask(
            f"SELECT role, {_COLUMNS} FROM part JOIN molecule ON id = part.molecule WHERE reaction = ?"  # noqa: S608
            " ORDER BY part.rowid LIMIT ?",
            number,
            4 * PAGE,
        ):
            one = Molecule(*row)
            parts[_ROLES[role]].append({**self._shown(one), "path": self.path(one.solution)})
        return {**told, "text": text[0][0] if text else "", **parts}

    def around(self, number: int) -> list[dict[str, Any]]:
        """Give the reactions before and after one."""
        first = max(1, min(number - NEAR // 2, self.reactions - NEAR + 1))
        found = self._ask(
            "SELECT number, rule, what, solution, at FROM reaction WHERE number >= ? ORDER BY number LIMIT ?",
            first,
            NEAR,
        )
        return [self._short(row) for row in found]

    def _short(self, row: tuple[int, str, str, int, float]) -> dict[str, Any]:
        number, rule, what, solution, at = row
        tasks = [one for (one,) in self._ask("SELECT DISTINCT task FROM touched WHERE reaction = ? LIMIT 6", number)]
        return {
            "number": number, "rule": rule, "what": what, "at": at, "tasks": tasks, "path": self.path(solution),
        }  # fmt: skip

    def events(self, task: str, number: int) -> dict[str, Any]:
        """Give the reactions of a task, and which of them are before and after the one that is shown."""
        rows = self._ask("SELECT DISTINCT reaction FROM touched WHERE task = ? ORDER BY reaction LIMIT 2000", task)
        numbers = [one for (one,) in rows]
        shown = [self._short(row) for row in self._some(_near(numbers, number))]
        return {
            "task": task,
            "count": len(numbers),
            "first": numbers[0] if numbers else None,
            "before": max((one for one in numbers if one < number), default=None),
            "after": min((one for one in numbers if one > number), default=None),
            "near": shown,
        }

    def _some(self, numbers: list[int]) -> list[Any]:
        marks = ",".join("?" * len(numbers))
        return self._ask(
            f"SELECT number, rule, what, solution, at FROM reaction WHERE number IN ({marks}) ORDER BY number",  # noqa: S608
            *numbers,
        )

    # --- What is there.

    def inside(self, number: int, solution: int, *, offset: int = 0, with_rules: bool = False) -> dict[str, Any]:
        """Give what is in a solution after so many reactions, and what the last one has just taken from it.

        What the last reaction is about comes first, wherever a page begins.
        """
        return self._inside(number, solution, self._roles(number), offset=offset, with_rules=with_rules, depth=0)

    def _roles(self, number: int) -> dict[int, str]:
        """Tell what the last reaction did with which molecules; what it happened in is `around` it."""
        rows = self._ask("SELECT solution FROM reaction WHERE number = ?", number)
        roles = {step["id"]: "around" for (solution,) in rows for step in self.path(solution)}
        for molecule, role in self._ask("SELECT molecule, role FROM part WHERE reaction = ? LIMIT ?", number, 4 * PAGE):
            roles[molecule] = _ROLES[role]
            ((solution,),) = self._ask("SELECT solution FROM molecule WHERE id = ?", molecule)
            for step in self.path(solution):
                roles.setdefault(step["id"], "around")
        return roles

    def _inside(
        self, number: int, solution: int, roles: dict[int, str], *, offset: int = 0, with_rules: bool, depth: int
    ) -> dict[str, Any]:
        kinds = "" if with_rules else f" AND kind < {Kind.RULE}"
        there = "solution = ? AND born <= ? AND died > ?"
        given = (solution, number, number)
        counts = dict(self._ask(f"SELECT kind, count(*) FROM molecule WHERE {there} GROUP BY kind", *given))  # noqa: S608
        rules = counts.get(Kind.RULE, 0)
        total = sum(counts.values()) - (0 if with_rules else rules)
        marks = ",".join("?" * len(roles))
        # What the last reaction took is still shown, as taken.
        first = (
            f"SELECT {_COLUMNS} FROM molecule WHERE solution = ? AND born <= ? AND died >= ? AND id IN ({marks})"  # noqa: S608
            " ORDER BY kind, id"
        )
        rest = (
            f"SELECT {_COLUMNS} FROM molecule WHERE {there}{kinds} AND id NOT IN ({marks})"  # noqa: S608
            " ORDER BY kind, id LIMIT ? OFFSET ?"
        )
        involved = [Molecule(*row) for row in self._ask(first, *given, *roles)]
        others = [Molecule(*row) for row in self._ask(rest, *given, *roles, PAGE, offset)]
        is_few = sum(one.kind == Kind.NESTED for one in (*involved, *others)) <= MAX_OPEN and total <= PAGE
        members = []
        for one in (*involved, *others):
            shown = {**self._shown(one), "role": roles.get(one.id, "")}
            if one.kind == Kind.NESTED:
                is_open = depth > 0 or is_few or one.id in roles
                # What is in one that was taken has gone with it.
                at = number - 1 if one.died == number else number
                shown["subs"] = [self._sub(at, sub, roles, is_open=is_open, depth=depth) for sub in _subs(one)]
            members.append(shown)
        left = max(0, total - sum(one.died > number for one in involved) - len(others) - offset)
        return {"id": solution, "count": total, "rules": rules, "offset": offset, "left": left, "members": members}

    def _sub(self, number: int, sub: int, roles: dict[int, str], *, is_open: bool, depth: int) -> dict[str, Any]:
        # What the last reaction took from it is worth showing, though it is empty now.
        rows = self._ask(
            "SELECT count(*), total(died > ?) FROM molecule WHERE solution = ? AND born <= ? AND died >= ?",
            number, sub, number, number,
        )  # fmt: skip
        shown, count = map(int, rows[0])
        if is_open and 0 < shown <= MAX_INSIDE and depth < _MAX_DEPTH:
            return {**self._inside(number, sub, roles, with_rules=False, depth=depth + 1), "is_open": True}
        return {"id": sub, "count": count, "is_open": False}

    def _shown(self, one: Molecule) -> dict[str, Any]:
        found: dict[str, Any] = {"id": one.id, "kind": _KINDS[one.kind], "text": one.text[:TEXT_SHOWN]}
        if one.length > TEXT_SHOWN:
            found["length"] = one.length
        if one.parts is not None:
            found["parts"] = json.loads(one.parts)
        return found

    def path(self, solution: int) -> list[dict[str, Any]]:
        """Give the molecules that a solution is inside of, the outermost first."""
        found: list[dict[str, Any]] = []
        while solution != ROOT and len(found) < _MAX_DEPTH:
            rows = self._ask(
                "SELECT molecule.id, text, molecule.solution FROM solution JOIN molecule ON molecule.id = molecule"
                " WHERE solution.id = ?",
                solution,
            )
            if not rows:
                break
            number, text, solution = rows[0]
            found.append({"id": number, "text": text.partition(":<")[0][:TEXT_SHOWN]})
        return found[::-1]

    def search(self, number: int, text: str) -> dict[str, Any]:
        """Find molecules by their text."""
        pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        rows = self._ask(
            f"SELECT {_COLUMNS} FROM molecule WHERE born <= ? AND died > ? AND kind < {Kind.RULE}"  # noqa: S608
            " AND text LIKE ? ESCAPE '\\' ORDER BY kind, id LIMIT ?",
            number, number, pattern, MAX_FOUND + 1,
        )  # fmt: skip
        found = [Molecule(*row) for row in rows]
        members = [{**self._shown(one), "path": self.path(one.solution)} for one in found[:MAX_FOUND]]
        return {"text": text, "members": members, "more": len(found) > MAX_FOUND}

    # --- Why.

    def why(self, molecule: int) -> dict[str, Any]:
        """Tell of a molecule which reaction made it, of what, which ones have used it since, and which one took it."""
        rows = self._ask(f"SELECT {_COLUMNS} FROM molecule WHERE id = ?", molecule)  # noqa: S608
        if not rows:
            raise LookupError(f"there is no molecule {molecule}")
        one = Molecule(*rows[0])
        uses = [
            {**self._short(row[:5]), "role": _ROLES[row[5]]}
            for row in self._ask(
                "SELECT number, rule, what, solution, at, role FROM part JOIN reaction ON number = reaction"
                " WHERE molecule = ? ORDER BY number LIMIT ?",
                molecule,
                PAGE,
            )
        ]
        return {
            **self._shown(one),
            "text": one.text,
            "born": one.born,
            "died": one.died if one.died <= self.reactions else None,
            "path": self.path(one.solution),
            "made": self.reaction(one.made) if one.made else None,
            "came": None if one.made or not one.born else one.born,
            "uses": uses,
        }


def _subs(one: Molecule) -> list[int]:
    return [piece for piece in json.loads(one.parts or "[]") if isinstance(piece, int)]


def _near(numbers: list[int], number: int) -> list[int]:
    """Give those of a sorted list that are nearest to a number."""
    at = sum(1 for one in numbers if one < number)
    first = max(0, min(at - NEAR // 2, len(numbers) - NEAR))
    return numbers[first : first + NEAR]


__all__ = ["Viewer"]
