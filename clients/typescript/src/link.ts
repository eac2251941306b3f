// What a session needs of a way to its server. `grpc.ts` and `connect.ts` are the two there are.

import type { ClientMessage, Open, ServerMessage } from "./gen/quizglass/v1/session_pb.js";

/** One link of a session. A broken one is not used again. */
export interface Link {
  /**
   * The server's messages, `opened` first; ends when the server ends the link in order.
   * @throws ClientError the link has failed
   */
  readonly messages: AsyncIterator<ServerMessage>;

  /**
   * Send messages, in their order, once those before have gone. Those that failed can be sent again.
   * @throws ClientError they could not be sent
   */
  send(messages: readonly ClientMessage[]): Promise<void>;

  /** End it, whatever state it is in; does not block. */
  close(): void;
}

/** A way to a server. */
export interface Transport {
  /** The server's address, for people. */
  readonly target: string;

  /**
   * Connect, and say the first message. `Link.messages` tells whether the server takes it.
   * @param ms time in which the server has to answer
   * @throws ClientError no server answers there, or not in time
   */
  open(first: Open, ms: number): Promise<Link>;
}
