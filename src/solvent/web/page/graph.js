import { make } from "./dom.js";

export function show(root, run) {
  root.append(make("p", { class: "empty" }, run.name));
}
