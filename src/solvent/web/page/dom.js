// Elements. Texts are set as text and never as markup: what runs say is not trusted.

/** Make an element: `make("a", {class: "x", href: "#/"}, "text", child, [more])`. Handlers are given as `onclick` and so on. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  return put(element, children);
}

/** Append children one by one: of a long text there are more than a call may have arguments. */
function put(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) put(element, child);
    else if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

/** Put other children into an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, children);
}

/** Have the sheet of a view, once. */
export function sheet(name) {
  const address = `/page/${name}`;
  if (document.querySelector(`link[href="${address}"]`)) return;
  document.head.append(make("link", { rel: "stylesheet", href: address }));
}

/** Show a dialog with a title; gives a function that closes it. */
export function dialog(title, ...children) {
  const box = document.getElementById("dialog");
  fill(box, make("h2", { id: "dialog-title" }, title), ...children);
  if (!box.open) box.showModal();
  return () => box.close();
}

/** Read the value of a colour of the theme: `colour("--done")`. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Give the address of a view: `address(["run", name])`. */
export function address(words) {
  return `#/${words.map(encodeURIComponent).join("/")}`;
}
