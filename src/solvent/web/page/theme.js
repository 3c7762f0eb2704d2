// Light and dark: as the system says, unless the user has chosen.
const KEY = "solvent-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

function chosen() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}

function apply() {
  document.documentElement.dataset.theme = chosen() ?? (system.matches ? "dark" : "light");
  for (const listener of listeners) listener();
}

/** Change from light to dark, or back; where that is what the system says, follow it again. */
export function toggleTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  const isSystems = (next === "dark") === system.matches;
  try { isSystems ? localStorage.removeItem(KEY) : localStorage.setItem(KEY, next); } catch { /* not kept, then */ }
  document.documentElement.dataset.theme = next;
  for (const listener of listeners) listener();
}

/** Be told when colours have changed; gives a function that ends this. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

system.addEventListener("change", apply);
apply();
