// Questions to the server.

/** Ask for something; an answer that is an error is thrown, with what to do about it. */
export async function ask(address, options = {}) {
  const answer = await fetch(address, options);
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error([found.error ?? `the server says ${answer.status}`, found.hint].filter(Boolean).join(" · "));
  return found;
}
