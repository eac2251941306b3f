// The way to a server over gRPC, for Node: `Converse`, one stream in each direction.

import { readFileSync } from "node:fs";
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials as channelCredentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { anyIs, anyUnpack } from "@bufbuild/protobuf/wkt";
import { StatusSchema } from "./gen/google/rpc/status_pb.js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import {
  type ClientMessage,
  ClientMessageSchema,
  type Open,
  type ServerMessage,
  ServerMessageSchema,
  SessionService,
} from "./gen/quizglass/v1/session_pb.js";
import { type ClientError, errorOfCall, invalid, ServerUnavailable, Status } from "./errors.js";
import type { Link, Transport } from "./link.js";
import { authorization, checkTarget, isLocal } from "./target.js";

const CONVERSE = `/${SessionService.typeName}/${SessionService.method.converse.name}`;
const TOKEN_FILE = "QUIZGLASS_TOKEN_FILE";
const OPTIONS = {
  // A broken link's connection may wait for a network without an answer: each link has its own.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
  // As the other clients: room for servers of later versions.
  "grpc.max_receive_message_length": 32 * 1024 * 1024,
};

type Call = ClientDuplexStream<ClientMessage, ServerMessage>;

/** What a server, or a proxy before it, asks of whoever comes. */
export interface Access {
  /** Goes with every link; over TLS only, unless the server is on this machine. */
  token?: string;
  /** File that has the token, read again for every link. Default: the one that QUIZGLASS_TOKEN_FILE names, unless `metadata` has `authorization`. */
  tokenFile?: string;
  /** The certificates that are trusted, PEM; the link is then encrypted. */
  ca?: Uint8Array;
  /** Of TLS, such as `credentials.createSsl()` of @grpc/grpc-js, where `ca` is not enough. Default: the link is not encrypted. */
  credentials?: ChannelCredentials;
  /** Goes with every link, for a proxy that asks for more than a token. */
  metadata?: Readonly<Record<string, string>>;
}

/** gRPC to "host:port", "[host]:port" or "unix:path". */
export class GrpcTransport implements Transport {
  readonly #credentials: ChannelCredentials;
  readonly #metadata = new Metadata();
  /** File that the token is from, and what named it. */
  readonly #tokenFile: { path: string; field: string } | undefined;
  /** Of whoever answers, for people. */
  readonly #wanted: string;

  /** @throws InvalidRequest the target is no address, a file has no token, or token or metadata cannot be sent */
  constructor(
    readonly target: string,
    access: Access = {},
  ) {
    checkTarget(target);
    const tls = access.credentials ?? (access.ca && channelCredentials.createSsl(Buffer.from(access.ca)));
    this.#wanted = tls ? " with a certificate that is trusted" : "";
    this.#credentials = tls ?? channelCredentials.createInsecure();
    for (const [name, value] of Object.entries(access.metadata ?? {})) this.#add(name, value);
    this.#tokenFile = tokenFileOf(access);
    const field = this.#tokenFile?.field ?? "token";
    const token = this.#tokenFile ? readToken(this.#tokenFile.path, field) : access.token;
    if (token !== undefined) this.#add("authorization", authorization(token, target, Boolean(tls) || isLocal(target), field));
  }

  /** Take up another token of the file; while that has none, as in the middle of being written, the one before stays. */
  #renew(): void {
    if (!this.#tokenFile) return;
    const { path, field } = this.#tokenFile;
    try {
      this.#add("authorization", authorization(readToken(path, field), this.target, true, field));
    } catch {
      // as it was
    }
  }

  #add(name: string, value: string): void {
    try {
      this.#metadata.set(name, value);
    } catch {
      // What gRPC says has the value in it, which may be a secret.
      const wanted = 'a name has letters, digits, "-", "_" and ".", a value printable ASCII without a line break';
      throw invalid("metadata", `"${name}" cannot be sent: ${wanted}`);
    }
  }

  async open(first: Open, ms: number): Promise<Link> {
    this.#renew();
    // gRPC sends even loopback traffic to the proxy named by http_proxy, which cannot reach this machine.
    const direct = isLocal(this.target) ? { "grpc.enable_http_proxy": 0 } : {};
    const client = new Client(this.target, this.#credentials, { ...OPTIONS, ...direct });
    try {
      await connected(client, this.target, this.#wanted, ms);
      const link = new GrpcLink(client, this.#metadata);
      void link.send([create(ClientMessageSchema, { message: { case: "open", value: first } })]);
      return link;
    } catch (error) {
      client.close();
      throw error;
    }
  }
}

/** The file of the token that is to go to a server, and what names it; undefined: no file does. @throws InvalidRequest a token is given too */
function tokenFileOf({ token, tokenFile, metadata = {} }: Access): { path: string; field: string } | undefined {
  if (token !== undefined && tokenFile !== undefined) throw invalid("token", "and tokenFile are both given; give one");
  if (token !== undefined) return undefined;
  if (tokenFile !== undefined) return { path: tokenFile, field: "tokenFile" };
  const named = process.env[TOKEN_FILE];
  const sent = Object.keys(metadata).some((name) => name.toLowerCase() === "authorization");
  return named && !sent ? { path: named, field: TOKEN_FILE } : undefined;
}

function readToken(path: string, field: string): string {
  try {
    return readFileSync(path, "latin1").trim();
  } catch (error) {
    throw invalid(field, `${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? "it is no file"})`);
  }
}

/** Wait until there is a connection. grpc-js would try for as long as a call waits, and has no time of its own. */
async function connected(client: Client, target: string, wanted: string, ms: number): Promise<void> {
  const channel = client.getChannel();
  const deadline = Date.now() + ms;
  for (;;) {
    const state = channel.getConnectivityState(true);
    if (state === connectivityState.READY) return;
    if (state === connectivityState.TRANSIENT_FAILURE) {
      throw new ServerUnavailable(`nothing answers at ${target}${wanted}`, Status.UNAVAILABLE);
    }
    const late = await new Promise((resolve) => channel.watchConnectivityState(state, deadline, resolve));
    if (late) throw new ServerUnavailable(`${target} does not answer within ${ms / 1000} s`, Status.UNAVAILABLE);
  }
}

class GrpcLink implements Link {
  readonly messages: AsyncIterator<ServerMessage>;
  readonly #call: Call;

  constructor(
    private readonly client: Client,
    metadata: Metadata,
  ) {
    this.#call = client.makeBidiStreamRequest(
      CONVERSE,
      (message: ClientMessage) => Buffer.from(toBinary(ClientMessageSchema, message)),
      (bytes: Buffer) => fromBinary(ServerMessageSchema, bytes),
      metadata,
    );
    this.#call.on("error", () => {}); // readers get the error
    this.messages = received(this.#call);
  }

  async send(messages: readonly ClientMessage[]): Promise<void> {
    for (const message of messages) {
      // A message to a link that has ended waits: readers get the reason.
      await new Promise<void>((resolve) => this.#call.write(message, (error?: Error | null) => void (error || resolve())));
    }
  }

  close(): void {
    this.#call.cancel();
    this.client.close();
  }
}

async function* received(call: Call): AsyncGenerator<ServerMessage> {
  try {
    for await (const message of call) yield message as ServerMessage;
  } catch (error) {
    throw told(error as ServiceError);
  }
}

/** The client's error for what gRPC raises. Details that cannot be read leave the status, which says enough. */
function told(error: ServiceError): ClientError {
  const [packed] = error.metadata?.get("grpc-status-details-bin") ?? [];
  const status = packed instanceof Uint8Array ? readable(() => fromBinary(StatusSchema, packed)) : undefined;
  const detail = <Schema extends DescMessage>(schema: Schema): MessageShape<Schema> | undefined => {
    const found = status?.details.find((each) => anyIs(each, schema));
    return found && readable(() => anyUnpack(found, schema));
  };
  return errorOfCall(
    error.code ?? Status.UNKNOWN,
    error.details || error.message,
    detail(ErrorInfoSchema),
    detail(BadRequestSchema),
    detail(RetryInfoSchema),
  );
}

/** What is read; undefined where it cannot be. */
function readable<Read>(read: () => Read): Read | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
