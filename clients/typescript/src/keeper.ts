// Keeps a session going: connects, resumes where it was when the link breaks, and says why when it cannot.

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type ClientMessage,
  type Open,
  Open_Privacy,
  type Opened,
  Opened_Restored,
  OpenSchema,
  type PostureLimits,
  type ServerMessage,
  ServerMessageSchema,
  type SessionLimits,
} from "./gen/quizglass/v1/session_pb.js";
import { Cancelled, ClientError, ServerError, ServerUnavailable, Status } from "./errors.js";
import type { Link, Transport } from "./link.js";
import { earlier, outputOf, type SessionOptions, timesOf } from "./options.js";
import type { Outgoing } from "./outgoing.js";
import { ends, type ServerSaid } from "./turn.js";
import { Change, within } from "./waiting.js";

/** Messages, and bytes of them, after which they are acknowledged. */
const [ACK_EVERY, ACK_BYTES] = [16, 16 * 1024];
/** Times of `SessionLimits.progress_us` without a word, during a turn, after which a link is dead. */
const SILENT_PROGRESS = 2.5;
const PROBE_MS = 1000;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 5000];
const SEND_ATTEMPTS = 3;
const CLOSE_MS = 2000;
/** Statuses that another attempt does not change. */
const LASTING = new Set([
  Status.INVALID_ARGUMENT,
  Status.UNIMPLEMENTED,
  Status.PERMISSION_DENIED,
  Status.UNAUTHENTICATED,
  Status.ABORTED,
]);

/** Whose links are kept. */
export interface Kept {
  readonly outgoing: Outgoing;
  /** Whether a question is not over. */
  readonly busy: boolean;
  /** There is a link, over which what may not have arrived is said again; `afterMs` the time without one. */
  opened(opened: Opened, afterMs: number, first: boolean): void;
  /** The link broke; another one is being made. */
  lost(reason: string): void;
  /** The server says something, once and in order. */
  said(said: ServerSaid): void;
  /** The session was given up, or closed. */
  failed(error: ClientError): void;
}

/** The link says nothing any more, or something has got lost on it. */
class DeadLink extends Error {}

export class Keeper {
  /** Links that there were so far. */
  links = 0;
  limits: SessionLimits | undefined;
  /** What holds in place of some limits, as the device is. */
  posture: PostureLimits | undefined;
  failure: ClientError | undefined;
  readonly #holder: Uint8Array;
  #state: Uint8Array;
  readonly #connectMs: number;
  readonly #patienceMs: number;
  readonly #asked: Pick<MessageInitShape<typeof OpenSchema>, "output" | "privacy">;
  #sessionId = "";
  #seq = 0n;
  #unacknowledged = { messages: 0, bytes: 0 };
  #heardAt = 0;
  #lostAt = performance.now();
  #hinted = false;
  #stirred = false;
  #stirredAt = 0;
  /** Whether the server is about to end the link. */
  #leaving = false;
  #closing = false;
  #link: Link | undefined;
  /** Whether the server has opened it. */
  #isOpen = false;
  #openedAt = 0;
  /** How long the server that refused the last attempt asks to be left alone. */
  #toldMs = 0;
  /** Whether it has brought anything of the session, and not of itself alone. */
  #brought = false;
  #kept: Promise<void> | undefined;
  readonly #changed = new Change();

  constructor(
    private readonly transport: Transport,
    private readonly owner: Kept,
    options: SessionOptions,
  ) {
    ({ connectTimeoutMs: this.#connectMs, patienceMs: this.#patienceMs } = timesOf(options));
    ({ holder: this.#holder, state: this.#state } = earlier(options.state));
    const privacy = options.localOnly ? Open_Privacy.LOCAL_ONLY : Open_Privacy.UNSPECIFIED;
    this.#asked = { output: outputOf(options), privacy };
  }

  /** What the dialogue can be continued with elsewhere: the secret, and what is signed for it; empty where there is none. */
  get state(): Uint8Array {
    return this.#state.length ? Uint8Array.of(...this.#holder, ...this.#state) : new Uint8Array();
  }

  /** Open the session. @throws ClientError it cannot be opened */
  async start(): Promise<void> {
    this.#kept = this.#keep();
    while (!this.links && !this.failure) await this.#changed.next();
    if (this.failure) throw this.failure;
  }

  /** End the session, and wait until the server knows, or for a while. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#isOpen && !this.failure) {
      this.owner.outgoing.say({ case: "close", value: {} });
      const late = (): Error => new DeadLink("the server does not end the link");
      await within(this.#kept ?? Promise.resolve(), CLOSE_MS, late).catch(() => undefined);
    }
    this.#fail(new Cancelled("the session was closed", Status.CANCELLED, { reason: "CLOSED" }));
    this.#link?.close();
  }

  /** The network may have changed: see at once whether the link is alive, and do not wait to make a new one. */
  hint(): void {
    this.#hinted = true;
    this.#changed.tell();
  }

  /** A question was asked: silence shows sooner now. */
  stir(): void {
    this.#stirred = true;
    this.#stirredAt = performance.now();
    this.#changed.tell();
  }

  get #over(): boolean {
    return this.#closing || this.failure !== undefined;
  }

  async #keep(): Promise<void> {
    let pause = 0;
    while (!this.#over) {
      const links = this.links;
      this.#toldMs = 0;
      const reason = await this.#linked().catch((error: unknown) => this.#judge(error));
      if (this.#over) return;
      if (this.links > links) {
        this.#lostAt = performance.now();
        // Else the next one may be of as little use.
        if (this.#brought || this.#lostAt - this.#openedAt > LONGEST_PAUSE_MS) pause = 0;
        this.owner.lost(reason);
      }
      await this.#pause(pause, reason);
      pause = Math.min(Math.max(2 * pause, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
    }
  }

  /** One link, from connecting to its end in order; why it ended. */
  async #linked(): Promise<string> {
    const [ending, connecting] = [new AbortController(), new AbortController()];
    this.#hinted = false;
    const until = performance.now() + this.#connectMs;
    const opening = this.transport.open(this.#open(), this.#connectMs);
    const hurry = this.#hurry(connecting.signal);
    let link: Link | undefined;
    try {
      link = this.#link = await Promise.race([opening, hurry]);
      if (this.#over) throw new DeadLink("the session was closed");
      const late = (): Error =>
        new ServerUnavailable(
          `${this.transport.target} does not answer within ${this.#connectMs / 1000} s`,
          Status.UNAVAILABLE,
        );
      const first = await Promise.race([within(link.messages.next(), until - performance.now(), late), hurry]);
      const said = first.done ? undefined : first.value.message;
      if (said?.case !== "opened") throw new DeadLink("the server does not open the session");
      connecting.abort();
      this.#opened(first.value as ServerMessage, said.value);
      await Promise.race([this.#read(link, ending.signal), this.#write(link, ending.signal), this.#watch(ending.signal)]);
      return "the server ended it";
    } finally {
      this.#link = undefined;
      this.#isOpen = false;
      connecting.abort();
      ending.abort();
      this.#changed.tell();
      link?.close();
      if (!link) void opening.then((late) => late.close(), () => undefined); // it is of no use any more
    }
  }

  /** An attempt to connect may be over a network that is no more: a hint leaves it a second. */
  async #hurry(connecting: AbortSignal): Promise<never> {
    while (!this.#hinted && !connecting.aborted) await this.#changed.next();
    await this.#wait(PROBE_MS, connecting);
    throw new DeadLink("there was no link yet when the network may have changed");
  }

  #open(): Open {
    const resumed = { sessionId: this.#sessionId, lastSeq: this.#seq, state: this.#state };
    return create(OpenSchema, { holder: this.#holder, ...resumed, ...this.#asked });
  }

  #opened(message: ServerMessage, opened: Opened): void {
    const now = performance.now();
    const first = !this.#sessionId;
    const resumed = opened.restored === Opened_Restored.ALL;
    if (!resumed) {
      this.#seq = 0n;
      this.posture = undefined;
    }
    this.#sessionId = opened.sessionId;
    this.limits = opened.limits;
    if (message.state.length) this.#state = message.state;
    this.#unacknowledged = { messages: 0, bytes: 0 };
    this.#heardAt = now;
    this.#hinted = false; // a link that has just answered need not be doubted
    this.#leaving = false;
    this.#isOpen = true;
    this.#openedAt = now;
    this.#brought = false;
    this.links += 1;
    this.owner.opened(opened, now - this.#lostAt, first);
    this.#changed.tell();
  }

  async #write(link: Link, ending: AbortSignal): Promise<never> {
    for (;;) {
      const messages = await this.owner.outgoing.next(ending);
      await this.#send(link, messages, ending);
    }
  }

  /**
   * Send messages. Where they go by calls of their own, these can fail while the link still brings messages: a server that
   * stops takes no more connections, or another server had them. Saying them twice changes nothing.
   */
  async #send(link: Link, messages: readonly ClientMessage[], ending: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await link.send(messages);
      } catch (error) {
        const lasting = error instanceof ClientError && LASTING.has(error.status);
        if (lasting || (attempt >= SEND_ATTEMPTS && !this.#leaving)) throw error;
      }
      await this.#wait(FIRST_PAUSE_MS * attempt, ending);
      ending.throwIfAborted();
    }
  }

  async #read(link: Link, ending: AbortSignal): Promise<void> {
    for (;;) {
      const next = await link.messages.next();
      if (next.done || ending.aborted) return; // what an old link still says is said again by the new one
      const message = next.value;
      const said = message.message;
      this.#heardAt = performance.now();
      if (message.state.length) this.#state = message.state;
      if (said.case === "opened" || said.case === "progress" || said.case === "goAway" || said.case === "pong") {
        if (message.seq !== this.#seq) throw new DeadLink("messages have got lost");
      } else if (message.seq <= this.#seq) {
        continue;
      } else if (message.seq > this.#seq + 1n) {
        throw new DeadLink("messages have got lost");
      } else {
        this.#seq = message.seq;
        this.#brought = true;
        this.#acknowledge(message);
      }
      if (said.case === "goAway") this.#leaving = true;
      if (said.case === "posture") this.posture = said.value.limits;
      if (said.case === "forgotten") this.#state = new Uint8Array();
      if (said.case === "pong") this.owner.outgoing.pong(said.value.payload);
      else if (said.case) this.owner.said(said);
    }
  }

  #acknowledge(message: ServerMessage): void {
    const said = message.message;
    const waiting = this.#unacknowledged;
    waiting.messages += 1;
    waiting.bytes += toBinary(ServerMessageSchema, message).length;
    if ((said.case && ends(said)) || waiting.messages >= ACK_EVERY || waiting.bytes >= ACK_BYTES) {
      this.#unacknowledged = { messages: 0, bytes: 0 };
      this.owner.outgoing.say({ case: "ack", value: { seq: this.#seq } });
    }
  }

  /**
   * Ask a silent link whether it is alive; end one that does not answer. Silence alone proves nothing: the program itself may
   * have stood still.
   */
  async #watch(ending: AbortSignal): Promise<void> {
    let asked = 0;
    while (!ending.aborted && !this.#over) {
      const pingMs = Number((this.posture ?? this.limits)?.pingUs) / 1000;
      const progressMs = Number(this.limits?.progressUs) / 1000;
      const silence = this.owner.busy ? SILENT_PROGRESS * progressMs : 2 * pingMs;
      const asks = Math.min(pingMs, silence / 2);
      const now = performance.now();
      const before = Math.max(this.#heardAt, this.#stirredAt);
      if (asked <= before && now - before >= asks) {
        this.owner.outgoing.say({ case: "ping", value: {} });
        asked = now;
      }
      const due = asked > before ? asked + silence - asks : before + asks;
      if (now >= due) throw new DeadLink("the link is silent");
      if (await this.#hint(due - now, ending)) await this.#probe(ending);
    }
    while (!ending.aborted) await this.#changed.next(); // it is being closed: its end is the server's
  }

  /** The network may have changed: a link that does not answer at once is dead. */
  async #probe(ending: AbortSignal): Promise<void> {
    const before = this.#heardAt;
    this.owner.outgoing.say({ case: "ping", value: {} });
    await this.#wait(PROBE_MS, ending);
    if (this.#heardAt === before) throw new DeadLink("the link does not answer since the network may have changed");
  }

  /** Wait for a hint so long; whether one came. */
  async #hint(ms: number, ending?: AbortSignal): Promise<boolean> {
    const until = performance.now() + ms;
    while (!this.#hinted && !this.#stirred && !this.#over && !ending?.aborted && performance.now() < until) {
      await this.#changed.next(until - performance.now());
    }
    const hinted = this.#hinted;
    this.#hinted = this.#stirred = false;
    return hinted;
  }

  /** Wait so long, or until something has ended. */
  async #wait(ms: number, ending: AbortSignal): Promise<void> {
    const until = performance.now() + ms;
    while (!ending.aborted && performance.now() < until) await this.#changed.next(until - performance.now());
  }

  /** Before the next attempt, unless the session is given up. */
  async #pause(pause: number, reason: string): Promise<void> {
    const least = this.#toldMs;
    if (performance.now() - this.#lostAt + Math.max(pause, least) > this.#patienceMs) {
      const told = `no link for ${this.#patienceMs / 1000} s: ${reason}`;
      this.#fail(new ServerUnavailable(told, Status.UNAVAILABLE));
    } else if (pause || least) {
      const share = 0.5 + Math.random() / 2; // many clients lose the same server, and get the same hint
      await this.#hint(Math.max(pause * share, least * (0.5 + share)));
    }
  }

  /** Why a link ended; a session that cannot be had is given up. */
  #judge(error: unknown): string {
    if (error instanceof DeadLink) return error.message;
    const told =
      error instanceof ClientError
        ? error
        : new ServerError(`the session failed: ${String(error)}`, Status.UNKNOWN, { reason: "UNEXPECTED" });
    const first = !this.links && told.reason !== "STOPPING";
    if (first || LASTING.has(told.status) || told.reason === "UNEXPECTED") this.#fail(told);
    this.#toldMs = told.retryAfterMs ?? 0;
    return told.message;
  }

  #fail(error: ClientError): void {
    if (this.failure) return;
    this.failure = error;
    this.owner.failed(error);
    this.#changed.tell();
  }
}
