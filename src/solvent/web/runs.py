"""Runs of workflows: what the page asks about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import Route

    from solvent.web.site import Site


def routes(_site: Site) -> list[Route]:
    """Give what can be asked."""
    return []


__all__ = ["routes"]
