// As much of VS Code as the extension asks for: loads it, opens a text, changes it, and prints what came of it.
"use strict";

const Module = require("node:module");

const [extension, command, text] = [process.argv[2], JSON.parse(process.argv[3]), process.argv[4]];
const providers = {};
const listeners = {};
const shown = [];
const waiting = [];
const register = (name) => (_language, provider) => (providers[name] = provider);
const listen = (name) => (listener) => (listeners[name] = listener);

class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
// Like the real one, it is written as an array, which a language server does not understand.
class Range {
  constructor(...at) { this.start = new Position(at[0], at[1]); this.end = new Position(at[2], at[3]); }
  toJSON() { return [this.start, this.end]; }
}
const kept = (...names) => class { constructor(...given) { names.forEach((name, at) => (this[name] = given[at])); } };
const uri = { toString: () => "file:///folder/program.hocl" };
const document = { uri, languageId: "hocl", version: 1, getText: () => text };
const vscode = {
  Position, Range, Uri: { parse: (given) => given },
  Diagnostic: kept("range", "message", "severity"), Hover: kept("contents", "range"), Location: kept("uri", "range"),
  MarkdownString: kept("value"), CompletionItem: kept("label", "kind"), WorkspaceEdit: kept(),
  DocumentSymbol: kept("name", "detail", "kind", "range", "selectionRange"),
  CompletionItemKind: { Function: 2, Variable: 5, Keyword: 13 },
  TextEdit: { replace: (range, newText) => ({ range, newText }) },
  window: { showWarningMessage: (said) => shown.push(said) },
  workspace: {
    textDocuments: [document],
    getConfiguration: () => ({ get: () => command }),
    onDidOpenTextDocument: listen("open"), onDidCloseTextDocument: listen("close"), onDidChangeTextDocument: listen("change"),
  },
  languages: {
    createDiagnosticCollection: () => ({ set: (_uri, found) => waiting.shift()(found) }),
    registerHoverProvider: register("hover"), registerDefinitionProvider: register("definition"),
    registerReferenceProvider: register("references"), registerRenameProvider: register("rename"),
    registerDocumentSymbolProvider: register("symbols"), registerCompletionItemProvider: register("completion"),
    registerDocumentFormattingEditProvider: register("formatting"),
  },
};
const load = Module._load;
Module._load = (name, ...more) => (name === "vscode" ? vscode : load(name, ...more));
const diagnostics = () => new Promise((found) => waiting.push(found));

(async () => {
  const { activate, deactivate } = require(extension);
  const first = diagnostics();
  await activate({ subscriptions: [] });
  if (!providers.hover) return console.log(JSON.stringify({ shown }));
  const found = { opened: (await first).map((one) => one.code) };
  const second = diagnostics();
  document.version = 2;
  listeners.change({ document, contentChanges: [{ range: new Range(1, 1, 1, 5), text: "max" }] });
  found.changed = (await second).map((one) => one.code);
  const at = new Position(1, 2);
  found.hover = (await providers.hover.provideHover(document, at)).contents.value;
  found.definition = (await providers.definition.provideDefinition(document, at)).range.start;
  found.references = (await providers.references.provideReferences(document, at)).length;
  found.symbols = (await providers.symbols.provideDocumentSymbols(document)).map((one) => one.name);
  found.completion = (await providers.completion.provideCompletionItems(document, at)).map((one) => one.label);
  found.formatting = (await providers.formatting.provideDocumentFormattingEdits(document)).length;
  await deactivate();
  console.log(JSON.stringify(found));
})();
