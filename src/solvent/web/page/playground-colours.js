// Colours of a program while it is typed: the same classes as solvent/lang/pygments_lexer.py gives, by the same expression
// and words, which the server sends. A test compares the two.

const NAMES = { space: "space", float: "float", int: "int" };

/** Make a function that splits a text: `[[class, piece], ...]`; the pieces, joined, are the text. */
export function colouring(words) {
  const lexeme = new RegExp(words.lexeme, "uy");
  // Every group of the expression has a name: what a lexeme is.
  const kinds = [...words.lexeme.matchAll(/\(\?<(\w+)>/g)].map((group) => group[1]);
  const part = new RegExp(`(${words.escape})|[^\\\\]+`, "gu");
  const namesRule = new RegExp(`\\s*=\\s*(?:${words.rules.join("|")})(?![\\p{L}\\p{N}_-])`, "uy");
  const called = /\s*\(/uy;
  const typed = /\s*::/uy;
  const sets = Object.fromEntries(["keywords", "constants", "operators", "headers", "punctuation", "kinds", "builtin"].map(
    (name) => [name, new Set(words[name])]));
  const fits = (expression, text, at) => {
    expression.lastIndex = at;
    return expression.test(text);
  };

  function classOfWord(word, text, end, before) {
    if (sets.keywords.has(word)) {
      if (sets.operators.has(word)) return "operator";
      return sets.constants.has(word) ? "constant" : "keyword";
    }
    if (before === "let" && word === "rec") return "keyword";
    if (before === "::" && sets.kinds.has(word)) return "kind";
    if (before === "^" && word === "inf") return "constant";
    if (/^\p{Lu}/u.test(word)) return fits(typed, text, end) ? "name" : "symbol";
    if (before === "let" || before === "rec" || fits(namesRule, text, end)) return "rule";
    if (fits(called, text, end)) return sets.builtin.has(word) ? "builtin" : "rule";
    return "name";
  }

  function classOf(kind, piece, text, end, before) {
    if (kind === "word") return classOfWord(piece, text, end, before);
    if (kind === "comment") return "comment";
    if (kind === "mark") return sets.punctuation.has(piece) ? "punctuation" : "operator";
    return NAMES[kind];
  }

  function inHeader(piece) {
    if (piece === ";") return "punctuation";
    return sets.headers.has(piece) ? "keyword" : "namespace";
  }

  return (text) => {
    const found = [];
    let before = "";
    let at = 0;
    let isHeader = true;
    while (at < text.length) {
      lexeme.lastIndex = at;
      const match = lexeme.exec(text);
      if (match === null) {
        const stray = String.fromCodePoint(text.codePointAt(at));
        found.push(["stray", stray]);
        at += stray.length;
        continue;
      }
      const piece = match[0];
      const kind = kinds[match.findIndex((group, number) => number && group !== undefined) - 1];
      const end = at + piece.length;
      if (kind === "string") {
        for (const one of piece.matchAll(part)) found.push([one[1] ? "escape" : "string", one[0]]);
      } else if (isHeader && (kind === "word" || kind === "mark") && (before || sets.headers.has(piece))) {
        found.push([inHeader(piece), piece]);
      } else {
        found.push([classOf(kind, piece, text, end, before), piece]);
      }
      at = end;
      if (kind !== "space" && kind !== "comment") {
        isHeader = isHeader && (Boolean(before) || sets.headers.has(piece));
        before = isHeader && piece === ";" ? "" : piece;
      }
    }
    return found;
  };
}
