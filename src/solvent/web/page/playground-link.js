// A link that is a program: it stands in the address, compressed, behind the `#`, which browsers send to nobody.

const MAX_CHARACTERS = 50_000;

/** Give the word of the address that stands for a program and what it is run with. */
export async function packed(content) {
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  if (typeof CompressionStream === "undefined") return `p${base64(bytes)}`;
  return `z${base64(await through(bytes, new CompressionStream("deflate-raw")))}`;
}

/** Give what such a word stands for; nothing where it is none. */
export async function unpacked(word) {
  try {
    const bytes = bytesOf(word.slice(1));
    const plain = word[0] === "z" ? await through(bytes, new DecompressionStream("deflate-raw"), 4 * MAX_CHARACTERS) : word[0] === "p" ? bytes : null;
    const content = plain && JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(plain));
    return typeof content?.program === "string" && content.program.length <= MAX_CHARACTERS ? content : null;
  } catch {
    return null;
  }
}

async function through(bytes, stream, bytesMax = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const found = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    found.push(value);
    size += value.length;
    if (size > bytesMax) {
      await reader.cancel();
      throw new Error("too long");
    }
  }
  return new Uint8Array(await new Blob(found).arrayBuffer());
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function bytesOf(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}
