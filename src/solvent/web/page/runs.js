// The list of runs.
import { make } from "./dom.js";

export function show(root) {
  root.append(make("div", { class: "page" }, make("div", { class: "empty" }, "There are no runs yet.")));
}
