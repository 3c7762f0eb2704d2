// Repeated requests, while the page is visible.
import { ask } from "./request.js";

/** Send a request every so often; `told` gets the answers, `failed` the errors. Returns a function that ends it. */
export function poll(address, every, told, failed) {
  let over = false;
  let timer = 0;
  async function look() {
    if (over) return;
    if (!document.hidden) {
      try {
        const found = await ask(address);
        if (!over) told(found);
      } catch (error) {
        if (!over) failed(error);
      }
    }
    if (!over) timer = setTimeout(look, every);
  }
  look();
  return () => { over = true; clearTimeout(timer); };
}
