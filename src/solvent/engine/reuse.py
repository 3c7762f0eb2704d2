"""Which solutions of a product are changed in place: those a pattern took apart and the product puts together again.

`T : <x, ?w>` by `T : <y, w>` takes `x` out and puts `y` in; the rest is not touched, let alone copied. And a tuple in
such a solution that only loses something from inside (`DST : <x, ?d>` by `DST : <d>`) stays where it is, unless a rule
there could want what it has become.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.engine.plan import says
from solvent.lang.syntax import Expression, Name, SolutionNode, SolutionPattern, TupleNode, TuplePattern, children

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.engine.plan import Element, Plan, Site


class Reuse:
    """What one rule's reaction changes in place."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        # The names whose molecules have found their place in the product.
        self.taken: set[str] = set()
        # The elements of sub-solutions whose molecules stay, because the product puts back what they took.
        self._kept: set[Element] = set()
        # For a solution of the product: the site that becomes it, and what is put in.
        self.reused: dict[int, tuple[Site, list[Expression]]] = {}
        # For a tuple of the product: the element whose molecule stays, and the site inside it that loses something.
        self.staying: dict[int, tuple[Element, Site]] = {}

    def decide(self, nodes: Iterable[Expression]) -> None:
        """Decide what is changed in place, before anything counts as used."""
        self._plan_reuse(nodes)
        for site, new in self.reused.values():
            for element in site.elements:
                if not self.keeps(element):
                    for item in new:
                        inner = self._loses(element, item)
                        if inner is not None and id(item) not in self.staying:
                            self.staying[id(item)] = (element, inner)
                            break

    def _loses(self, element: Element, item: Expression) -> Site | None:
        """Return the solution in a tuple that loses molecules and gains none, if nothing else happens to the tuple."""
        pattern = element.pattern
        if not isinstance(pattern, TuplePattern) or not isinstance(item, TupleNode):
            return None
        if len(pattern.parts) != len(item.parts) or self.plan.head(pattern) is None:
            return None
        found: Site | None = None
        for part, node in zip(pattern.parts, item.parts, strict=True):
            if says(part, node):
                continue
            reused = self.reused.get(id(node))
            if found is not None or reused is None or reused[1]:
                return None
            if not isinstance(part, SolutionPattern) or self.plan.site_of_pattern[id(part)] is not reused[0]:
                return None
            found = reused[0]
        return found

    def only_loses(self, element: Element, item: Expression) -> Site | None:
        """Return the solution in a tuple that loses molecules, at any depth, and gains none, if nothing else happens.

        The product is then the molecule that was taken, and as often as it reacts so it has less in it.
        """
        pattern = element.pattern
        if not isinstance(pattern, TuplePattern) or not isinstance(item, TupleNode):
            return None
        if len(pattern.parts) != len(item.parts):
            return None
        found: Site | None = None
        for part, node in zip(pattern.parts, item.parts, strict=True):
            if says(part, node):
                continue
            site, new = self.reused.get(id(node), (None, []))
            if found is not None or site is None or not all(id(one) in self.staying for one in new):
                return None
            if not isinstance(part, SolutionPattern) or self.plan.site_of_pattern[id(part)] is not site:
                return None
            found = site
        return found if found is not None and not all(map(self.keeps, found.elements)) else None

    def _plan_reuse(self, nodes: Iterable[Expression]) -> None:
        """Decide which solutions of the product are changed in place, before anything counts as used."""
        for node in nodes:
            if isinstance(node, SolutionNode):
                at = next((at for at, item in enumerate(node.items) if self._reusable(item)), None)
                if at is not None:
                    self._reuse(node, at)
            self._plan_reuse(children(node))

    def _reusable(self, item: Expression) -> bool:
        if not isinstance(item, Name) or item.text in self.taken:
            return False
        site = self.plan.rest_sites.get(item.text)
        if site is None or site.number == 0 or self.is_held(site):
            return False
        return site.rests[0].name == item.text

    def _reuse(self, node: SolutionNode, at: int) -> None:
        rest = node.items[at]
        assert isinstance(rest, Name)
        site = self.plan.rest_sites[rest.text]
        assert site is not None
        self.taken.add(rest.text)
        new = node.items[:at] + node.items[at + 1 :]
        for element in site.elements:
            same = next((item for item in new if says(element.pattern, item)), None)
            if same is not None:
                new.remove(same)
                self._kept.add(element)
        self.reused[id(node)] = (site, new)

    def keeps(self, element: Element) -> bool:
        """Return whether the molecule that an element took stays where it is."""
        return element.kept or element in self._kept

    def is_held(self, site: Site) -> bool:
        """Return whether a site's solution stays where it is, since a kept reactant holds it."""
        holder = site.holder
        while holder is not None:
            if self.keeps(holder):
                return True
            holder = holder.site.holder
        return False
