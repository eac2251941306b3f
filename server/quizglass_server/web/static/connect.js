// The server's calls over Connect, as JSON: https://connectrpc.com/docs/protocol

const STREAM_END = 0b10;
/** Connect's code where a token is missing, or not valid any more. */
export const UNAUTHENTICATED = "unauthenticated";
const HEADERS = { "Connect-Protocol-Version": "1" };
const KEPT = "quizglass-token";

/** @type {Map<string, string>} What is kept until the page is left, where the browser keeps nothing for pages. */
const memory = new Map();

/** @param {"sessionStorage" | "localStorage"} kind @returns {Pick<Storage, "getItem" | "setItem" | "removeItem">} */
function storage(kind) {
  try {
    return globalThis[kind];
  } catch {
    return {
      getItem: (name) => memory.get(name) ?? null,
      setItem: (name, value) => void memory.set(name, value),
      removeItem: (name) => void memory.delete(name),
    };
  }
}

/** The token of whoever uses the page; the server may need none. One that was typed is kept until the tab is closed, one
 * that a pairing gave to this device until a user logs out. */
export const login = {
  /** Called with what the server says when it asks for a token. @type {(told: string) => void} */
  wanted: () => {},
  /** @returns {string} */
  get token() {
    return storage("sessionStorage").getItem(KEPT) ?? storage("localStorage").getItem(KEPT) ?? "";
  },
  set token(token) {
    storage("sessionStorage").setItem(KEPT, token);
  },
  /** Keep the token of a pairing. @param {string} token */
  keep(token) {
    login.end();
    storage("localStorage").setItem(KEPT, token);
  },
  /** Forget all tokens. */
  end() {
    for (const kind of /** @type {const} */ (["sessionStorage", "localStorage"])) storage(kind).removeItem(KEPT);
  },
  /** Whether a token may be sent from here: not over a network in clear. */
  get possible() {
    return globalThis.isSecureContext;
  },
};

/** Headers of every call. @param {string} type of its content @returns {Record<string, string>} */
export function headers(type) {
  const sent = { ...HEADERS, "Content-Type": type };
  return login.token && login.possible ? { ...sent, Authorization: `Bearer ${login.token}` } : sent;
}

/** What a call ended with: Connect's code, and the message for people. */
export class CallError extends Error {
  /** @param {{code?: string, message?: string}} told */
  constructor(told) {
    super(told.message || told.code || "the call failed");
    this.code = told.code ?? "unknown";
  }
}

/**
 * A call with one answer.
 * @param {string} method as in "KnowledgeService/GetPicture"
 * @param {object} message
 * @param {AbortSignal} [signal] gives it up
 * @returns {Promise<any>}
 */
export async function call(method, message, signal) {
  const response = await fetch(`/quizglass.v1.${method}`, {
    method: "POST",
    headers: headers("application/json"),
    body: JSON.stringify(message),
    signal,
  });
  if (!response.ok) throw await failure(response);
  return response.json();
}

/**
 * A call that is answered message by message.
 * @param {string} method
 * @param {object} message
 * @param {AbortSignal} signal ends it
 * @returns {AsyncGenerator<any>}
 */
export async function* stream(method, message, signal) {
  const response = await fetch(`/quizglass.v1.${method}`, {
    method: "POST",
    headers: headers("application/connect+json"),
    body: enveloped(JSON.stringify(message)),
    signal,
  });
  if (!response.ok || !response.body) throw await failure(response);
  for await (const [flags, text] of envelopes(response.body)) {
    const content = JSON.parse(text);
    if (!(flags & STREAM_END)) yield content;
    else if (content.error) throw failed(content.error);
    else return;
  }
  throw new CallError({ code: "unavailable", message: "the connection was lost in the middle of the answer" });
}

/** @param {Response} response */
async function failure(response) {
  const told = await response.json().catch(() => ({}));
  return failed({ code: told.code ?? `HTTP ${response.status}`, message: told.message });
}

/** @param {{code?: string, message?: string}} told */
function failed(told) {
  if (told.code === UNAUTHENTICATED) login.wanted(told.message ?? "");
  return new CallError(told);
}

/** A message with its flags (one byte) and its length (four, the highest first). @param {string} text */
export function enveloped(text) {
  const content = new TextEncoder().encode(text);
  const whole = new Uint8Array(5 + content.length);
  new DataView(whole.buffer).setUint32(1, content.length);
  whole.set(content, 5);
  return whole;
}

/**
 * Flags and text of each message of a body, whatever the pieces it comes in.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<[number, string]>}
 */
export async function* envelopes(body) {
  const reader = body.getReader();
  /** @type {Uint8Array} */
  let waiting = new Uint8Array(0);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      waiting = joined(waiting, value);
      while (waiting.length >= 5) {
        const length = new DataView(waiting.buffer, waiting.byteOffset).getUint32(1);
        if (waiting.length < 5 + length) break;
        yield [waiting[0], new TextDecoder().decode(waiting.subarray(5, 5 + length))];
        waiting = waiting.subarray(5 + length);
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** @param {Uint8Array} one @param {Uint8Array} other */
function joined(one, other) {
  if (!one.length) return other;
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
