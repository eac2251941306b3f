// For pages in a browser: a session over HTTP.

import { canvasPictures } from "./canvas.js";
import { ConnectTransport } from "./connect.js";
import type { SessionOptions } from "./options.js";
import { Session } from "./session.js";

export * from "./shared.js";
export { canvasPictures, ConnectTransport };

/**
 * Open a session over the server's port for HTTP.
 * @param url "https://host:port"; default: where the page is from
 * @throws ClientError it cannot be opened
 */
export function openSession(url = globalThis.location.origin, options: SessionOptions = {}): Promise<Session> {
  return Session.open(new ConnectTransport(url), { ...(canvasPictures && { pictures: canvasPictures }), ...options });
}
