// Server-sent events. Browsers allow few connections to one server, so a hidden page closes its own, and gets what it
// missed when it is visible again.

const sign = document.getElementById("link");

/** Listen to an address: `listen("/api/events", {all(data) {}, news(data) {}, problem(data) {}})`; returns a function that ends it. */
export function listen(address, takes) {
  let source = null;
  let last = "";
  let isOver = false;

  function open() {
    if (isOver || source) return;
    source = new EventSource(last ? `${address}?after=${encodeURIComponent(last)}` : address);
    source.onopen = () => say("");
    // The browser reconnects by itself, from where it was; if it has given up, we reconnect later.
    source.onerror = () => {
      say("lost");
      if (source?.readyState === EventSource.CLOSED) { shut(); setTimeout(open, 2000); }
    };
    for (const kind of Object.keys(takes)) {
      source.addEventListener(kind, (event) => {
        if (event.lastEventId) last = event.lastEventId;
        if (kind === "problem") isOver = true;
        if (isOver) shut();
        takes[kind](JSON.parse(event.data));
      });
    }
  }

  function shut() {
    source?.close();
    source = null;
  }

  function see() {
    if (document.hidden) shut();
    else open();
  }

  document.addEventListener("visibilitychange", see);
  open();
  return () => {
    isOver = true;
    shut();
    say("");
    document.removeEventListener("visibilitychange", see);
  };
}

function say(state) {
  sign.dataset.state = state;
  sign.textContent = state === "lost" ? "connection lost, trying again …" : "";
}
