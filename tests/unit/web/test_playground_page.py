"""The playground in a real browser: typed, run, stepped through, tried in every order, explained and shared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from pygments import token

from solvent.lang.pygments_lexer import HoclLexer
from solvent.web.playground.editor import examples
from tests.browser.chromium import browser, looking
from tests.unit.web.page_server import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.browser.chromium import Watched

MAX = "let max = replace x, y by x if x >= y in\n<2, 9, 5, max>"
_ODD = [
    "", "{", '"open', "a.b(c)", 'é = replace-one "\\u0041\\n" by Ω', "replace-one2 x'' ½ ²a",
    "x::int::list ^inf inf", "\U0001f9ea <1>",
    "package a.b;\nimport c;\n<import>", "/* open", "1.5e3 2e9 07", "let rec f = one x by f(len(x))", "≥ ≤ ⟨⟩ ∧ ∞ & |",
]  # fmt: skip
_CLASSES = {
    token.Whitespace: "space",
    token.Number.Float: "float",
    token.Number.Integer: "int",
    token.String.Double: "string",
    token.String.Escape: "escape",
    token.Comment.Multiline: "comment",
    token.Comment.Single: "comment",
    token.Punctuation: "punctuation",
    token.Operator: "operator",
    token.Operator.Word: "operator",
    token.Keyword: "keyword",
    token.Keyword.Constant: "constant",
    token.Keyword.Type: "kind",
    token.Keyword.Namespace: "keyword",
    token.Name: "name",
    token.Name.Namespace: "namespace",
    token.Name.Constant: "symbol",
    token.Name.Function: "rule",
    token.Name.Builtin: "builtin",
    token.Error: "stray",
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Serve the page and open a browser."""
    with (
        browser() as one,
        served(tmp_path_factory.mktemp("page") / "store.db") as client,
        looking(one, client.base_url, color_scheme="light") as seen,
    ):
        yield seen


@pytest.fixture
def page(opened: Watched) -> Iterator[Page]:
    """Open the playground; whatever goes wrong in the page fails the test."""
    opened.page.goto("about:blank")
    opened.go("#/playground")
    opened.wait("#pg-program")
    yield opened.page
    assert opened.problems == []


def _type(page: Page, text: str) -> None:
    page.fill("#pg-program", text)


def test_a_program_is_typed_and_run_by_the_keyboard(page: Page) -> None:
    """Ctrl-Enter in the editor runs what was typed, and the result is shown."""
    _type(page, MAX)
    page.press("#pg-program", "Control+Enter")
    page.wait_for_selector(".pg-final:has-text('<9, max>')")
    assert "inert after 2 reactions" in page.inner_text("#pg-panel-result")


def test_a_long_result_is_shown_and_what_is_left_out_is_said(page: Page) -> None:
    """A result of a hundred thousand characters appears in place of the one before, cut with a word."""
    _type(page, MAX)
    page.press("#pg-program", "Control+Enter")
    page.wait_for_selector(".pg-final:has-text('<9, max>')")
    _type(page, "<1, replace x::int by x, x + 1>")
    page.press("#pg-program", "Control+Enter")
    page.wait_for_selector(".pg-final:has-text('more characters')")
    assert "not inert" in page.inner_text("#pg-panel-result")
    assert "cannot be shown" not in page.inner_text("#pg-problems")


def test_that_nobody_answers_is_said_and_no_old_result_stays(page: Page) -> None:
    """A question that gets no answer leaves no answer to another one standing."""
    _type(page, MAX)
    page.press("#pg-program", "Control+Enter")
    page.wait_for_selector(".pg-final:has-text('<9, max>')")
    # An answer that cannot be read: as from something in between that is not the server.
    page.route("**/api/playground", lambda route: route.fulfill(body="no answer"))
    try:
        page.press("#pg-program", "Control+Enter")
        page.wait_for_selector(".pg-problem:has-text('The server does not answer')")
        assert page.locator(".pg-final").count() == 0
    finally:
        page.unroute("**/api/playground")


def test_errors_are_marked_where_they_are_as_one_types(page: Page) -> None:
    """Without a click, what is wrong is marked in the text and in its line's number, and told with code and hint."""
    _type(page, "<1,\n {2}>")
    page.wait_for_selector(".pg-problem[data-kind=error]")
    assert page.inner_text(".pg-wrong") == "{"
    assert page.inner_text(".pg-line-error").strip() == "2"
    assert re.search(r"H101.*line 2, column 2.*a solution is written", page.inner_text(".pg-problem"), re.DOTALL)
    _type(page, "<1, 2>")
    page.wait_for_selector(".pg-problem", state="detached")


def test_reactions_are_stepped_through_forward_and_back(page: Page) -> None:
    """Arrow keys go through the reactions; what is taken next and the rule are marked, also in the text."""
    _type(page, "let sum = replace x::int, y::int by x + y in <1, 2, 4, sum>")
    page.press("#pg-program", "Control+Enter")
    page.wait_for_selector(".pg-final")
    page.press("#pg-program", "Escape")
    page.keyboard.press("Home")
    taken, now = "#pg-panel-steps .pg-solution .pg-taken", "#pg-panel-steps .pg-bar .num"
    assert (page.inner_text(now), page.locator(taken).count()) == ("0 / 2", 2)
    assert page.inner_text("#pg-panel-steps .pg-solution .pg-by") == "sum"
    assert "".join(page.locator(".pg-shown .pg-acting").all_inner_texts()) == "replace x::int, y::int by x + y"
    page.keyboard.press("ArrowRight")
    assert (page.inner_text(now), page.locator("#pg-panel-steps .pg-solution .pg-made").count()) == ("1 / 2", 1)
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#pg-panel-steps .pg-solution") == "<7, sum>"
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(now) == "1 / 2"


def test_all_orders_are_drawn(page: Page) -> None:
    """The states of a program are drawn, a final one tells how it is reached, and two runs that diverge are told."""
    _type(page, "<A, (left = replace-one A by B), (right = replace-one A by C)>")
    page.press("#pg-program", "Control+Shift+Enter")
    page.wait_for_selector(".pg-graph")
    assert page.locator(".pg-state").count() == 3
    assert "Two runs that diverge" in page.inner_text("#pg-panel-orders")
    page.locator(".pg-state[data-state=final]").first.press("Enter")
    assert "reached by" in page.inner_text(".pg-detail")


def test_a_molecule_tells_why_it_is_there_and_a_rule_why_it_does_not_react(page: Page) -> None:
    """A click on a molecule of the result asks why it is there, on a rule what stops it."""
    _type(page, "<1, 2, (sum = replace x::int, y::int by x + y)>")
    page.click("#pg-run")
    page.click(".pg-final button:has-text('3')")
    page.wait_for_selector(".pg-tree:has-text('made by reaction 1')")
    page.click("#pg-tab-result")
    page.click(".pg-final button:has-text('sum')")
    page.wait_for_selector(".pg-report:has-text('no molecule is left')")


def test_a_link_holds_the_program_and_the_seed(page: Page) -> None:
    """Who opens a link has the program, whatever letters it has, and the server never sees it."""
    text = '<"Ω \U0001f9ea", 1, 2>\n// ' + "long " * 200
    _type(page, text)
    page.fill("#pg-seed", "7")
    page.click("#pg-share")
    link = page.input_value("#pg-link")
    assert len(link) < len(text)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("#pg-program")
    assert (page.input_value("#pg-program"), page.input_value("#pg-seed")) == (text, "7")
    assert [url for url in asked if link.split("#/playground/")[1] in url.split("#")[0]] == []


def test_a_link_that_was_cut_says_so(page: Page, opened: Watched) -> None:
    """A link that holds no program is told, and an example is shown instead."""
    page.goto("about:blank")
    opened.go("#/playground/zAAAA")
    page.wait_for_selector(".pg-problem:has-text('This link holds no program')")
    assert page.input_value("#pg-program")


def test_an_example_is_one_choice_away(page: Page) -> None:
    """Choosing an example puts it into the editor."""
    page.select_option("#pg-examples", "primes")
    assert page.input_value("#pg-program") == next(one.text for one in examples() if one.name == "primes")


def test_a_program_that_never_ends_is_stopped_and_told(page: Page) -> None:
    """A limit is told with its code and what the page calls it, and how far the run came is shown."""
    _type(page, "<1, (replace x::int by x + 1)>")
    page.fill("#pg-reactions", "25")
    page.click("#pg-run")
    page.wait_for_selector(".pg-problem:has-text('H501')")
    assert "allow more reactions" in page.inner_text(".pg-problem")
    assert "not inert after 25 reactions" in page.inner_text("#pg-panel-result")


def test_colours_are_those_of_the_lexer(page: Page) -> None:
    """The page's colours of all examples and of odd texts are the classes that Pygments is given."""
    texts = [*_ODD, *(one.text for one in examples())]
    script = """async (texts) => {
      const { colouring } = await import("/page/playground-colours.js");
      const split = colouring((await (await fetch("/api/playground")).json()).words);
      return texts.map(split);
    }"""
    for text, seen in zip(texts, page.evaluate(script, texts), strict=True):
        assert _merged(seen) == _merged(_classified(text)), text


def _classified(text: str) -> list[list[Any]]:
    return [[_CLASSES[kind], piece] for _, kind, piece in HoclLexer().get_tokens_unprocessed(text)]


def _merged(pieces: list[list[Any]]) -> list[tuple[str, str]]:
    """Join neighbours of one class: where a string is cut does not matter."""
    found: list[tuple[str, str]] = []
    for kind, piece in pieces:
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + piece)
        else:
            found.append((kind, piece))
    return found


def test_nothing_lies_over_anything_else_in_narrow_windows(page: Page) -> None:
    """In a window as narrow as a telephone, no part of the page is wider than it."""
    page.set_viewport_size({"width": 400, "height": 800})
    try:
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 400
    finally:
        page.set_viewport_size({"width": 1280, "height": 800})
