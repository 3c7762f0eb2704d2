"""A text-analysis pipeline: chapters are counted beside each other; a step that is too slow is replaced.

`solvent run words.py` runs it. Names are looked for in a slow and thorough way, for at most half a second.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

from solvent.services import cancelled
from solvent.workflow import attempt, service, workflow

COMMON = """
a against and as at before but by had in inside is its it no nobody of older on our than that the there they to told up
was went were when with
"""


@service
def read(file: str) -> str:
    """Give the text of a file beside this one."""
    return (Path(__file__).parent / file).read_text(encoding="utf-8")


@service
def split(text: str) -> list[str]:
    """Cut a text before each chapter."""
    return [part.strip() for part in re.split(r"^(?=CHAPTER )", text, flags=re.MULTILINE) if part.strip()]


@service
def title(chapter: str) -> str:
    """Give the first line of a chapter, without its number."""
    return chapter.partition("\n")[0].partition(". ")[2]


@service
def count(chapter: str) -> dict[str, int]:
    """Count the words of one chapter, but not its heading and not the common ones."""
    words = re.findall(r"[a-z]+", chapter.partition("\n")[2].lower())
    common = set(COMMON.split())
    return dict(Counter(word for word in words if word not in common))


@service
def merge(counts: list[dict[str, int]]) -> dict[str, int]:
    """Add counts up."""
    return dict(sum((Counter(one) for one in counts), Counter[str]()))


@service
def top(counts: dict[str, int], how_many: int) -> list[str]:
    """Give the most frequent words; of equals, the first in the alphabet."""
    return sorted(counts, key=lambda word: (-counts[word], word))[:how_many]


@service(timeout=0.5)
def find_names_thoroughly(text: str) -> list[str]:
    """Look every word up in a large dictionary, as a time-consuming library would."""
    names = []
    for word in text.split():
        time.sleep(0.02)
        if cancelled():
            break
        names += [word] if word in {"Ines", "Lisbon"} else []
    return names


@service
def find_names(text: str) -> list[str]:
    """Give the words with a capital letter that do not begin a sentence."""
    return sorted(set(re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", re.sub(r"CHAPTER .*", "", text))))


@service
def describe(titles: list[str], counts: list[dict[str, int]], words: list[str], names: list[str]) -> str:
    """Put everything into words."""
    lines = [f"{name}: {sum(one.values())} words" for name, one in zip(titles, counts, strict=True)]
    return "\n".join([*lines, f"most frequent: {', '.join(words)}", f"names: {', '.join(names) or 'none'}"])


@workflow
def analysis(file: str = "novel.txt", how_many: int = 5) -> str:
    """Describe a text by its chapters, its words and its names."""
    text = read(file)
    chapters = split(text)
    counts = count.each(chapters)
    words = top(merge(counts), how_many)
    names = attempt(find_names_thoroughly(text), otherwise=find_names(text), on="timeout", name="too slow")
    return describe(title.each(chapters), counts, words, names)
