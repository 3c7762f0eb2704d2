// Which part of the picture is seen: zoom, pan, fit, by wheel, pointer and touch.

const MAX_SCALE = 3;
const SCALE_FIRST = 0.22;
const SPACE = 24;

/** Watch an element's pointer: `{onMove(), onPick(x, y), onHover(x, y), onOpen(x, y)}`; gives a camera. */
export function camera(element, acts) {
  const view = { x: 0, y: 0, scale: 1, width: 1, height: 1 };
  const pointers = new Map();
  let size = { width: 1, height: 1 };
  let hasMoved = false;
  let isFitted = true;
  // What is to be shown once the element has a size: a tab in the background is laid out late.
  let later = [];

  const isLaid = () => view.width > 1 && view.height > 1;
  const least = () => Math.min(0.05, Math.min(view.width / size.width, view.height / size.height) * 0.8);

  function zoomAt(px, py, factor) {
    const scale = Math.max(least(), Math.min(MAX_SCALE, view.scale * factor));
    view.x += px / view.scale - px / scale;
    view.y += py / view.scale - py / scale;
    view.scale = scale;
    isFitted = false;
    acts.onMove();
  }

  function panBy(dx, dy) {
    view.x -= dx / view.scale;
    view.y -= dy / view.scale;
    isFitted = false;
    acts.onMove();
  }

  function fit() {
    const scale = Math.min(1.1, (view.width - 2 * SPACE) / size.width, (view.height - 2 * SPACE) / size.height);
    view.scale = Math.max(scale, 1e-4);
    view.x = (size.width - view.width / view.scale) / 2;
    view.y = (size.height - view.height / view.scale) / 2;
    isFitted = true;
    acts.onMove();
  }

  /** Show all, unless that is too small to see anything: then what is around a box. */
  function begin(box) {
    if (!isLaid()) return void (later = [() => begin(box)]);
    fit();
    if (view.scale >= SCALE_FIRST || !box) return;
    view.scale = SCALE_FIRST;
    view.x = box.x + box.w / 2 - view.width / view.scale / 2;
    view.y = size.height * view.scale < view.height ? (size.height - view.height / view.scale) / 2 : box.y - 0.3 * (view.height / view.scale);
    isFitted = false;
    acts.onMove();
  }

  /** Have a box in sight, and large enough to be read where that is wanted. */
  function reveal(box, isLarge = false) {
    if (!isLaid()) return void later.push(() => reveal(box, isLarge));
    if (isLarge && view.scale < 0.5) {
      view.scale = 0.8;
      view.x = box.x + box.w / 2 - view.width / view.scale / 2;
      view.y = box.y + box.h / 2 - view.height / view.scale / 2;
      isFitted = false;
    }
    const space = SPACE / view.scale;
    const [wide, high] = [view.width / view.scale, view.height / view.scale];
    if (box.x - space < view.x) view.x = box.x - space;
    if (box.x + box.w + space > view.x + wide) view.x = box.x + box.w + space - wide;
    if (box.y - space < view.y) view.y = box.y - space;
    if (box.y + box.h + space > view.y + high) view.y = box.y + box.h + space - high;
    acts.onMove();
  }

  const place = (event) => {
    const edge = element.getBoundingClientRect();
    return [event.clientX - edge.left, event.clientY - edge.top];
  };
  const inPicture = ([px, py]) => [view.x + px / view.scale, view.y + py / view.scale];

  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey) return panBy(-(event.deltaY || event.deltaX), 0);
    const step = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    zoomAt(...place(event), Math.exp(-Math.max(-120, Math.min(120, step)) * (event.ctrlKey ? 0.01 : 0.002)));
  }, { passive: false });

  element.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    element.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    hasMoved = false;
  });
  element.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    const now = place(event);
    if (!before) return acts.onHover(...inPicture(now));
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const far = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]);
      hasMoved = true;
      zoomAt((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, far(now) / Math.max(1, far(before)));
    } else if (hasMoved || Math.hypot(now[0] - before[0], now[1] - before[1]) > 3) {
      hasMoved = true;
      panBy(now[0] - before[0], now[1] - before[1]);
    } else {
      return;
    }
    pointers.set(event.pointerId, now);
  });
  element.addEventListener("pointerup", (event) => {
    if (pointers.delete(event.pointerId) && !hasMoved) acts.onPick(...inPicture(place(event)));
  });
  element.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  element.addEventListener("dblclick", (event) => acts.onOpen(...inPicture(place(event))));

  return {
    view,
    fit,
    begin,
    reveal,
    panBy,
    zoomBy: (factor) => zoomAt(view.width / 2, view.height / 2, factor),
    /** Hear how large the picture is. */
    sizeOf(width, height) { size = { width: Math.max(1, width), height: Math.max(1, height) }; },
    /** Hear how large the element is; a picture that was fitted stays so. */
    resize(width, height) {
      view.width = Math.max(1, width);
      view.height = Math.max(1, height);
      if (!isLaid()) return;
      if (isFitted) fit();
      for (const act of later.splice(0)) act();
    },
  };
}
