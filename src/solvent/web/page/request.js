// Requests to the server.

/** Send a request and return its JSON; throw an error of the server, with its hint. */
export async function ask(address, options = {}) {
  const answer = await fetch(address, options);
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error([found.error ?? `the server says ${answer.status}`, found.hint].filter(Boolean).join(" · "));
  return found;
}
