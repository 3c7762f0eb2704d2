// Server-sent events. Browsers keep few connections to one server, so a page that nobody sees lets its own go, and
// hears what it has missed when it is seen again.

const sign = document.getElementById("link");

/** Listen to an address: `listen("/api/events", {all(data) {}, news(data) {}, problem(data) {}})`; gives what ends it. */
export function listen(address, takes) {
  let source = null;
  let last = "";
  let isOver = false;

  function open() {
    if (isOver || source) return;
    source = new EventSource(last ? `${address}?after=${encodeURIComponent(last)}` : address);
    source.onopen = () => say("");
    // The browser tries again by itself, and says where it was; where it has given up, so do we, later.
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
