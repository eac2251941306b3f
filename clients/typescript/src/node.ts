// For programs under Node: a session over gRPC.

import { type Access, GrpcTransport } from "./grpc.js";
import type { SessionOptions } from "./options.js";
import { Session } from "./session.js";

export * from "./shared.js";
export { type Access, GrpcTransport };

/**
 * Open a session over gRPC.
 * @param target "host:port", "[host]:port" or "unix:path"
 * @param options how it is kept, and what the server asks for: `token` or `tokenFile`, `ca`
 * @throws ClientError it cannot be opened
 */
export async function openSession(target = "127.0.0.1:50061", options: SessionOptions & Access = {}): Promise<Session> {
  return Session.open(new GrpcTransport(target, options), options);
}
