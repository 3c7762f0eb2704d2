// Starts `solvent lsp` and passes on what VS Code asks: a small client of the language server protocol, without a
// dependency, so that the folder can be copied as it is.
"use strict";

const { spawn } = require("node:child_process");
const vscode = require("vscode");

const LANGUAGE = "hocl";
const KINDS = { 1: "Text", 3: "Function", 6: "Variable", 7: "Class", 14: "Keyword", 21: "Constant" };

class Client {
  constructor(command, diagnostics) {
    this.diagnostics = diagnostics;
    this.waiting = new Map();
    this.number = 0;
    this.rest = Buffer.alloc(0);
    this.process = spawn(command[0], [...command.slice(1), "lsp"], { stdio: ["pipe", "pipe", "inherit"] });
    this.process.on("error", (error) => {
      vscode.window.showWarningMessage(`HOCL: cannot start ${command[0]}: ${error.message}`);
      this.giveUp();
    });
    this.process.on("exit", () => this.giveUp());
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", (data) => this.take(data));
  }

  // Nobody answers any more.
  giveUp() {
    this.waiting.forEach((answer) => answer(null));
    this.waiting.clear();
  }

  send(message) {
    const data = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${data.length}\r\n\r\n`);
    this.process.stdin.write(data);
  }

  tell(method, params) {
    this.send({ method, params });
  }

  ask(method, params) {
    const id = ++this.number;
    return new Promise((answer) => {
      this.waiting.set(id, answer);
      this.send({ id, method, params });
    });
  }

  // Messages come in pieces, or several at a time.
  take(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const header = this.rest.indexOf("\r\n\r\n");
      const length = /Content-Length: (\d+)/i.exec(this.rest.subarray(0, Math.max(header, 0)).toString());
      if (header < 0 || !length || this.rest.length < header + 4 + Number(length[1])) return;
      const end = header + 4 + Number(length[1]);
      const message = JSON.parse(this.rest.subarray(header + 4, end).toString());
      this.rest = this.rest.subarray(end);
      if (message.method === "textDocument/publishDiagnostics") this.show(message.params);
      else if (this.waiting.has(message.id)) {
        this.waiting.get(message.id)(message.result ?? null);
        this.waiting.delete(message.id);
      }
    }
  }

  show({ uri, diagnostics }) {
    const found = diagnostics.map((one) => {
      const shown = new vscode.Diagnostic(range(one.range), one.message, one.severity - 1);
      shown.code = one.code;
      shown.source = one.source;
      return shown;
    });
    this.diagnostics.set(vscode.Uri.parse(uri), found);
  }
}

const range = ({ start, end }) => new vscode.Range(start.line, start.character, end.line, end.character);
const position = ({ line, character }) => ({ line, character });
const place = (document, at) => ({ ...of(document), position: position(at) });
const of = (document) => ({ textDocument: { uri: document.uri.toString() } });
const markdown = (text) => new vscode.MarkdownString(text);
const edit = (one) => vscode.TextEdit.replace(range(one.range), one.newText);

function symbol(one) {
  const shown = new vscode.DocumentSymbol(one.name, one.detail, one.kind - 1, range(one.range), range(one.selectionRange));
  shown.children = one.children.map(symbol);
  return shown;
}

function item(one) {
  const shown = new vscode.CompletionItem(one.label, vscode.CompletionItemKind[KINDS[one.kind]]);
  shown.sortText = one.sortText;
  shown.detail = one.detail;
  shown.documentation = one.documentation && markdown(one.documentation.value);
  return shown;
}

function follow(client, context) {
  const isOurs = (document) => document.languageId === LANGUAGE;
  const open = (document) => {
    if (!isOurs(document)) return;
    const { version } = document;
    const text = document.getText();
    client.tell("textDocument/didOpen", { textDocument: { uri: document.uri.toString(), languageId: LANGUAGE, version, text } });
  };
  vscode.workspace.textDocuments.forEach(open);
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidCloseTextDocument((document) => isOurs(document) && client.tell("textDocument/didClose", of(document))),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (!isOurs(document)) return;
      const textDocument = { uri: document.uri.toString(), version: document.version };
      const changes = contentChanges.map(({ range: at, text }) => ({ range: { start: position(at.start), end: position(at.end) }, text }));
      client.tell("textDocument/didChange", { textDocument, contentChanges: changes });
    }),
  );
}

function answer(client, context) {
  const ask = (method, params) => client.ask(`textDocument/${method}`, params);
  const location = (one) => one && new vscode.Location(vscode.Uri.parse(one.uri), range(one.range));
  const { languages } = vscode;
  context.subscriptions.push(
    languages.registerHoverProvider(LANGUAGE, {
      provideHover: async (document, at) => {
        const found = await ask("hover", place(document, at));
        return found && new vscode.Hover(markdown(found.contents.value), range(found.range));
      },
    }),
    languages.registerDefinitionProvider(LANGUAGE, {
      provideDefinition: async (document, at) => location(await ask("definition", place(document, at))),
    }),
    languages.registerReferenceProvider(LANGUAGE, {
      provideReferences: async (document, at) => ((await ask("references", place(document, at))) ?? []).map(location),
    }),
    languages.registerRenameProvider(LANGUAGE, {
      provideRenameEdits: async (document, at, newName) => {
        const found = await ask("rename", { ...place(document, at), newName });
        if (!found) throw new Error(`${newName} cannot be a name here`);
        const changes = new vscode.WorkspaceEdit();
        changes.set(document.uri, Object.values(found.changes).flat().map(edit));
        return changes;
      },
    }),
    languages.registerDocumentSymbolProvider(LANGUAGE, {
      provideDocumentSymbols: async (document) => ((await ask("documentSymbol", of(document))) ?? []).map(symbol),
    }),
    languages.registerCompletionItemProvider(
      LANGUAGE,
      { provideCompletionItems: async (document, at) => ((await ask("completion", place(document, at))) ?? []).map(item) },
      ":",
      ".",
    ),
    languages.registerDocumentFormattingEditProvider(LANGUAGE, {
      provideDocumentFormattingEdits: async (document) => ((await ask("formatting", of(document))) ?? []).map(edit),
    }),
  );
}

let client = null;

exports.activate = async (context) => {
  const diagnostics = vscode.languages.createDiagnosticCollection(LANGUAGE);
  context.subscriptions.push(diagnostics);
  const command = vscode.workspace.getConfiguration(LANGUAGE).get("command") ?? ["solvent"];
  if (!command.length) return;
  client = new Client(command, diagnostics);
  // Whoever cannot be started answers nothing.
  if (!(await client.ask("initialize", { capabilities: {} }))) return;
  client.tell("initialized", {});
  follow(client, context);
  answer(client, context);
};

exports.deactivate = async () => {
  if (client === null || client.process.exitCode !== null) return;
  await client.ask("shutdown");
  client.tell("exit");
};
