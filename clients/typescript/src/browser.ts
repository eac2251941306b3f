// For pages in a browser: a session over HTTP.

import { ConnectTransport } from "./connect.js";
import type { SessionOptions } from "./keeper.js";
import { Session } from "./session.js";

export * from "./shared.js";
export { ConnectTransport };

/**
 * Open a session over the server's port for HTTP.
 * @param url "https://host:port"; default: where the page is from
 * @throws ClientError it cannot be opened
 */
export function openSession(url = globalThis.location.origin, options: SessionOptions = {}): Promise<Session> {
  return Session.open(new ConnectTransport(url), options);
}
