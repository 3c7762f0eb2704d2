// Asking again and again, while the page is seen.
import { ask } from "./asking.js";

/** Ask every so often; `told` gets what is answered, `failed` what is wrong. Gives a function that ends it. */
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
