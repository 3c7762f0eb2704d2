"""A picture as a self-contained SVG text, in light and in dark."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from solvent.pictures.shapes import DARK, DASHES, ENDS, LIGHT, LINES, RECTS, TEXTS, Group, Line, Rect, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.pictures.shapes import Shape, Sheet

_HEAD = (
    '<marker id="{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker>'
)
_ENDS = {
    "arrow": _HEAD.format("arrow"),
    "return": _HEAD.format("return"),
    "cross": '<marker id="cross" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="10" markerHeight="10" '
    'markerUnits="userSpaceOnUse"><path d="M1 1 L9 9 M9 1 L1 9"/></marker>',
}
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot represent."""


def svg(sheet: Sheet) -> str:
    """Write a picture as SVG."""
    width, height = round(sheet.width), round(sheet.height)
    kinds = _kinds(sheet.shapes)
    ends = "".join(text for name, text in _ENDS.items() if name in kinds["end"])
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" {size} role="img" text-anchor="middle">',
        f"<title>{_written(sheet.title)}</title>",
        f"<style>\n{_styles(kinds)}</style>",
        *([f"<defs>{ends}</defs>"] if ends else []),
        *map(_shape, sheet.shapes),
        "</svg>",
        "",
    ]
    return "\n".join(lines)


def _written(text: str) -> str:
    return escape(_UNPRINTABLE.sub("\ufffd", text))


def _shape(shape: Shape) -> str:
    match shape:
        case Rect():
            kind = _class(f"{shape.kind} dashed" if shape.is_dashed else shape.kind)
            place = f'x="{shape.x:.1f}" y="{shape.y:g}" width="{shape.width:.1f}" height="{shape.height:g}"'
            return f'<rect{kind} {place} rx="{shape.radius:g}"/>'
        case Line():
            end = f' marker-end="url(#{shape.end})"' if shape.end else ""
            return f'<path{_class(shape.kind)} d="{shape.path}"{end}/>'
        case Text():
            anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "middle" else ""
            place = f'x="{shape.x:.1f}" y="{shape.y:g}"{anchor}'
            return f"<text{_class(shape.kind)} {place}>{_written(shape.text)}</text>"
        case Group():
            tip = f"<title>{_written(shape.tip)}</title>" if shape.tip else ""
            return f"<g{_class(shape.kind)}>{tip}{''.join(map(_shape, shape.shapes))}</g>"


def _class(kind: str) -> str:
    return f' class="{escape(kind.strip())}"' if kind.strip() else ""


# ------------------------------------------------------------------------------------------------------- styles


def _styles(kinds: Mapping[str, set[str]]) -> str:
    """Return the CSS of the kinds in use: sizes and light colours, then the dark colours."""
    sizes = ["  .picture text { font: 13px ui-sans-serif, system-ui, sans-serif; }"]
    sizes += ["  .picture path { fill: none; }", "  .picture rect { stroke-width: 1.2; }"]
    dashed = "stroke-dasharray: {} {};"
    for kind in sorted(kinds["text"]):
        letters = TEXTS.get(kind, TEXTS[""])
        said = f" font-size: {letters.size}px;" if letters.size != 13 else ""
        said += " font-weight: 600;" * letters.is_bold
        sizes += [f"  .picture text.{kind} {{{said} }}"] if said else []
    for kind in sorted({"", *kinds["path"]}):
        stroke = LINES.get(kind, LINES[""])
        said = f"stroke-width: {stroke.width:g};{' ' + dashed.format(*stroke.dashes) if stroke.dashes else ''}"
        sizes.append(f"  .picture path{_of(kind)} {{ {said} }}")
    sizes.append(f"  .picture rect.dashed {{ {dashed.format(*DASHES)} }}")
    dark = "".join(f"  {line}\n" for line in _colours(kinds, DARK))
    light = "".join(f"{line}\n" for line in [*sizes, *_colours(kinds, LIGHT)])
    return f"{light}  @media (prefers-color-scheme: dark) {{\n{dark}  }}\n"


def _kinds(shapes: tuple[Shape, ...]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"rect": set(), "path": set(), "text": set(), "end": set()}
    for one in shapes:
        match one:
            case Rect():
                found["rect"].add(one.kind if one.kind in RECTS else "")
            case Line():
                found["path"].add(one.kind if one.kind in LINES else "")
                found["end"].add(one.end)
            case Text():
                found["text"].add(one.kind if one.kind in TEXTS else "")
            case Group():
                for kind, more in _kinds(one.shapes).items():
                    found[kind] |= more
    return {kind: some - {""} for kind, some in found.items()}


def _of(kind: str) -> str:
    return f".{kind}" if kind else ""


def _colours(kinds: Mapping[str, set[str]], colour: Mapping[str, str]) -> list[str]:
    lines = [f"  svg.picture {{ background: {colour['paper']}; }}"]
    lines += [
        f"  .picture text{_of(kind)} {{ fill: {colour[TEXTS[kind].colour]}; }}" for kind in sorted({"", *kinds["text"]})
    ]
    for kind in sorted({"", *kinds["rect"]}):
        fill, edge = RECTS[kind]
        lines.append(f"  .picture rect{_of(kind)} {{ fill: {colour[fill]}; stroke: {colour[edge]}; }}")
    lines += [
        f"  .picture path{_of(kind)} {{ stroke: {colour[LINES[kind].colour]}; }}"
        for kind in sorted({"", *kinds["path"]})
    ]
    for end in sorted(kinds["end"]):
        name = colour[ENDS[end]]
        cross = f"stroke: {name}; stroke-width: 2; stroke-dasharray: none;"
        lines.append(f"  .picture #{end} path {{ {cross if end == 'cross' else f'fill: {name}; stroke: none;'} }}")
    return lines


__all__ = ["svg"]
