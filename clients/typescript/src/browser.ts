// For pages in a browser: a session over HTTP.

import { canvasPictures } from "./canvas.js";
import { ConnectTransport, type HttpAccess } from "./connect.js";
import { type Microphone, openMicrophone } from "./microphone.js";
import type { SessionOptions } from "./options.js";
import { Session } from "./session.js";

export * from "./shared.js";
export { canvasPictures, ConnectTransport, type HttpAccess, type Microphone, openMicrophone };

/**
 * Open a session over the server's port for HTTP.
 * @param url "https://host:port"; default: where the page is from
 * @param options how it is kept, and the `token` that the server asks for
 * @throws ClientError it cannot be opened
 */
export async function openSession(url = globalThis.location.origin, options: SessionOptions & HttpAccess = {}): Promise<Session> {
  return Session.open(new ConnectTransport(url, options), { ...(canvasPictures && { pictures: canvasPictures }), ...options });
}
