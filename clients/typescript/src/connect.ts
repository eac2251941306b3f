// The way to a server over HTTP, for browsers, which cannot stream requests: `Attach` brings, `Send` takes.

import { type Client, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import { type ClientMessage, type Open, type ServerMessage, SessionService } from "./gen/quizglass/v1/session_pb.js";
import { type ClientError, errorOfCall, ServerUnavailable, Status } from "./errors.js";
import type { Link, Transport } from "./link.js";
import { authorization, isLocal } from "./target.js";

/** What a server asks of whoever comes over HTTP. */
export interface HttpAccess {
  /** Goes with every call; over https: only, unless the server is on this machine. */
  token?: string;
}

/** Connect to the server's port for HTTP, "https://host:port". */
export class ConnectTransport implements Transport {
  readonly #client: Client<typeof SessionService>;

  /** @throws InvalidRequest the token cannot be sent */
  constructor(
    readonly target: string,
    { token }: HttpAccess = {},
  ) {
    const sent = token === undefined ? undefined : authorization(token, target, isSafe(target));
    const withToken: Interceptor = (next) => (request) => {
      if (sent) request.header.set("authorization", sent);
      return next(request);
    };
    const transport = createConnectTransport({ baseUrl: target, useBinaryFormat: true, interceptors: [withToken] });
    this.#client = createClient(SessionService, transport);
  }

  open(first: Open, ms: number): Promise<Link> {
    return Promise.resolve(new ConnectLink(this.target, this.#client, first, ms));
  }
}

/** Whether traffic to an address cannot be read on the way. */
function isSafe(url: string): boolean {
  const { protocol, host, port } = new URL(url, globalThis.location?.href);
  return protocol === "https:" || isLocal(port ? host : `${host}:80`);
}

class ConnectLink implements Link {
  readonly messages: AsyncIterator<ServerMessage>;
  readonly #ending = new AbortController();
  #sessionId = "";
  #stream = 0n;

  constructor(
    private readonly target: string,
    private readonly client: Client<typeof SessionService>,
    private readonly first: Open,
    private readonly timeoutMs: number,
  ) {
    this.messages = this.#received();
  }

  async send(messages: readonly ClientMessage[]): Promise<void> {
    const request = { sessionId: this.#sessionId, holder: this.first.holder, stream: this.#stream, messages: [...messages] };
    try {
      await this.client.send(request, { signal: this.#ending.signal, timeoutMs: this.timeoutMs });
    } catch (error) {
      throw told(error, this.target);
    }
  }

  close(): void {
    this.#ending.abort();
  }

  async *#received(): AsyncGenerator<ServerMessage> {
    for (let heard = false, attempt = 1; ; attempt++) {
      try {
        for await (const message of this.client.attach({ open: this.first }, { signal: this.#ending.signal })) {
          heard = true;
          if (message.message.case === "opened") {
            this.#sessionId = message.message.value.sessionId;
            this.#stream = message.message.value.stream;
          }
          yield message;
        }
        return;
      } catch (error) {
        if (heard || attempt > 1 || !disconnected(error)) throw told(error, this.target);
      }
    }
  }
}

/** Whether a call lost its connection or got none, as the first one over a connection that was kept and has been closed meanwhile. */
function disconnected(raised: unknown): boolean {
  return ConnectError.from(raised).cause instanceof TypeError; // so `fetch` fails, and whoever reads what it gave
}

/** The client's error for what Connect raises. */
function told(raised: unknown, target: string): ClientError {
  const error = ConnectError.from(raised);
  if (disconnected(error)) return new ServerUnavailable(`no connection to ${target}: ${error.rawMessage}`, Status.UNAVAILABLE);
  const [info] = error.findDetails(ErrorInfoSchema);
  const [bad] = error.findDetails(BadRequestSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  return errorOfCall(error.code as number as Status, error.rawMessage, info, bad, retry);
}
