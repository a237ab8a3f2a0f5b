// Asking over HTTP: POST /chat as server-sent events, and papers by id. Knows nothing of the page.

/** What went wrong, as the kind at the end of a problem's type (`urn:confab:error:KIND`). */
export class Trouble extends Error {
  constructor(kind, problem = {}) {
    super(kind);
    this.kind = kind;
    this.problem = problem;
  }

  static of(problem) {
    return new Trouble(String(problem.type ?? "").split(":").pop() || "other", problem);
  }
}

/** The events of one answer as {name, data}. Throws Trouble; an `error` event is thrown too. */
export async function* ask(question, signal) {
  const response = await reach("/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ question }),
    signal,
  });
  for await (const event of events(response.body)) {
    if (event.name === "error") throw Trouble.of(event.data);
    yield event;
    if (event.name === "done") return;
  }
  throw new Trouble("cut");
}

/** A paper with its abstract. Ids may hold any character. */
export async function paper(id) {
  return (await reach(`/papers/${encodeURIComponent(id)}`)).json();
}

async function reach(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble("offline");
  }
  if (!response.ok) throw Trouble.of(await response.json().catch(() => ({})));
  return response;
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  try {
    for (;;) {
      const { value, done } = await read(reader);
      if (done) return;
      const blocks = (waiting + value).split("\n\n");
      waiting = blocks.pop();
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function read(reader) {
  try {
    return await reader.read();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble("cut");
  }
}

/** One block of lines, or null for a heartbeat (lines that start with a colon). */
function parse(block) {
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
  }
  return fields.data === undefined ? null : { name: fields.event, data: JSON.parse(fields.data) };
}
