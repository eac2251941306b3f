// What a session has to say over its link: messages first, and between them pieces of frames. Knows what has to be said
// again over a new link.

import { create, equals, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ClientMessage,
  ClientMessageSchema,
  type FrameBegin,
  FrameBeginSchema,
  type FrameNeed,
  type FrameStatus,
  FrameStatus_State,
  type Playing,
  type SpeechStart,
  type SpeechStatus,
  SpeechStatus_State,
} from "./gen/quizglass/v1/session_pb.js";
import { crc32c } from "./crc32c.js";
import { Window } from "./pacing.js";
import { Change } from "./waiting.js";

/** Bytes of frames that are kept to be sent again; the oldest go. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Messages that go together, at most: a `SendRequest` takes 64. */
const MOST_MESSAGES = 32;
/** Bytes of one speech that are kept to be sent again; the oldest go first, as those of a microphone that stays open. */
const MOST_KEPT_SOUND_BYTES = 8 * 1024 * 1024;
/** Bytes of sound that go together, after which no more is added: less than a `SendRequest` takes. */
const MOST_SOUND_BYTES = 64 * 1024;
/** In place of a question's name. */
const FORGET = "";

/** What a client says, as its fields. */
export type ClientSaid = Exclude<NonNullable<MessageInitShape<typeof ClientMessageSchema>["message"]>, { case: undefined }>;

/** What is said of a frame beside its name and its size. */
export type FrameAbout = Omit<MessageInitShape<typeof FrameBeginSchema>, "$typeName" | "sha256" | "size">;

interface Upload {
  begin: FrameBegin;
  readonly data: Uint8Array;
  /** First byte to be sent; undefined: the server has not said, or has it. */
  offset: number | undefined;
  held: boolean;
  /** Whether the server of now has been told of it, and has not let it go. */
  announced: boolean;
}

/** The sound of one spoken question, which is being sent. */
export class Speech {
  /** What came after its end, and belongs to what is spoken next. */
  left: Uint8Array[] = [];
  readonly start: ClientMessage;
  /** Resolves when the server takes nothing more of it. */
  readonly finished: Promise<void>;
  #over = false;
  #finish = (): void => undefined;
  #pieces: { data: Uint8Array; playing: Playing | undefined }[] = [];
  #bytes = 0;
  /** Number of the oldest piece that is kept. */
  #first = 0;
  /** The next piece to be sent; undefined: the server has to say, over a new link. */
  #next: number | undefined = 0;
  #greeted = false;
  #whole = false;
  #ended = false;

  constructor(start: SpeechStart) {
    this.start = create(ClientMessageSchema, { message: { case: "speechStart", value: start } });
    this.finished = new Promise((resolve) => (this.#finish = resolve));
  }

  /** Whether the server takes nothing more of it. */
  get over(): boolean {
    return this.#over;
  }

  /** More was recorded, while that was played; what comes after its end is left for the next one. */
  add(data: Uint8Array, playing: Playing | undefined): void {
    if (this.#over) {
      this.left.push(data);
      return;
    }
    this.#pieces.push({ data, playing });
    this.#bytes += data.length;
    while (this.#bytes > MOST_KEPT_SOUND_BYTES) {
      this.#bytes -= this.#pieces.shift()!.data.length;
      this.#first += 1;
    }
  }

  /** Nothing more is recorded. */
  complete(): void {
    this.#whole = true;
  }

  /** Nothing more is sent of it. */
  end(): void {
    this.#over = true;
    this.#pieces = [];
    this.#finish();
  }

  /** What the server has of it. */
  status(status: SpeechStatus): void {
    const next = Number(status.nextSeq);
    if (status.state === SpeechStatus_State.ENDED && !this.#over) {
      this.left = this.#pieces.slice(Math.max(0, next - this.#first)).map((piece) => piece.data);
      this.end();
    } else if (status.state === SpeechStatus_State.LISTENING) {
      if (this.#next === undefined || this.#greeted) {
        this.#next = next;
        this.#ended = false;
      }
      this.#greeted = true;
    }
  }

  /** There is a new link, over which the server says what it has. */
  again(): void {
    this.#next = undefined;
    this.#greeted = true;
  }

  /** What is to be sent next; undefined: nothing now. */
  next(): ClientMessage | undefined {
    if (this.#over || this.#next === undefined || this.start.message.case !== "speechStart") return undefined;
    const id = this.start.message.value.id;
    const at = Math.max(0, this.#next - this.#first); // what is not kept any more leaves a gap, which the server refuses
    const piece = this.#pieces[at];
    if (piece) {
      const seq = BigInt(this.#first + at);
      this.#next = this.#first + at + 1;
      return create(ClientMessageSchema, { message: { case: "audio", value: { id, seq, ...piece } } });
    }
    if (!this.#whole || this.#ended) return undefined;
    this.#ended = true;
    const parts = BigInt(this.#first + this.#pieces.length);
    return create(ClientMessageSchema, { message: { case: "speechEnd", value: { id, parts } } });
  }
}

/** Bytes as a key. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What is to be sent, in order. */
export class Outgoing {
  #waiting: ClientMessage[] = [];
  readonly #uploads = new Map<string, Upload>();
  // In the order in which they were said: what is asked before something is forgotten goes with it.
  readonly #asks = new Map<string, { said: ClientMessage; frame: string }>();
  readonly #speeches = new Map<string, Speech>();
  readonly #cancels = new Map<string, ClientMessage>();
  readonly #drops = new Map<string, ClientMessage>();
  #played: ClientMessage | undefined;
  #device: ClientMessage | undefined;
  #window = new Window();
  readonly #changed = new Change();

  /** Send a message, and again over a new link until it is acknowledged. */
  say(said: ClientSaid): void {
    const message = create(ClientMessageSchema, { message: said });
    const kept = message.message;
    if (kept.case === "ask") {
      const frame = kept.value.request?.frames[0]?.source;
      this.#asks.set(kept.value.id, { said: message, frame: frame?.case === "sha256" ? hex(frame.value) : "" });
    }
    if (kept.case === "cancel") this.#cancels.set(kept.value.askId, message);
    if (kept.case === "frameDrop") this.#drops.set(hex(kept.value.sha256), message);
    if (kept.case === "playback") this.#played = message;
    if (kept.case === "deviceState") this.#device = message;
    if (kept.case === "forget") {
      this.#uploads.clear();
      this.#played = undefined;
      this.forgotten();
      this.#asks.set(FORGET, { said: message, frame: "" });
    }
    this.#waiting.push(message);
    this.#changed.tell();
  }

  /** Send a frame, unless it was sent before; `about` says what it is, and whether it is pinned. */
  show(sha256: Uint8Array, data: Uint8Array, about: FrameAbout = {}): void {
    const name = hex(sha256);
    this.#drops.delete(name);
    const known = this.#uploads.get(name);
    const begin = create(FrameBeginSchema, { ...about, sha256, size: BigInt(data.length) });
    if (known?.announced && equals(FrameBeginSchema, known.begin, begin)) return;
    if (known) Object.assign(known, { begin, announced: true });
    else this.#uploads.set(name, { begin, data, offset: undefined, held: false, announced: true });
    this.#forgetOldest();
    this.say({ case: "frameBegin", value: begin });
  }

  /** Give a frame up. */
  drop(sha256: Uint8Array): void {
    this.#uploads.delete(hex(sha256));
    this.say({ case: "frameDrop", value: { sha256 } });
  }

  /** Begin a spoken question. */
  speak(start: SpeechStart): Speech {
    const speech = new Speech(start);
    this.#speeches.set(start.id, speech);
    this.#waiting.push(speech.start);
    this.#changed.tell();
    return speech;
  }

  /** What the server has of a spoken question. */
  spoken(status: SpeechStatus): void {
    this.#speeches.get(status.id)?.status(status);
    this.#changed.tell();
  }

  /** More of a spoken question was recorded. */
  recorded(): void {
    this.#changed.tell();
  }

  /** What the server has of a frame. */
  status(status: FrameStatus): void {
    if (status.state === FrameStatus_State.DROPPED) this.#drops.delete(hex(status.sha256));
    const upload = this.#uploads.get(hex(status.sha256));
    if (!upload) return;
    upload.held = status.state === FrameStatus_State.HELD;
    upload.announced = status.state !== FrameStatus_State.DROPPED;
    upload.offset = status.state === FrameStatus_State.SEND ? Number(status.offset) : undefined;
    this.#changed.tell();
  }

  /** A question waits for a frame. */
  need(need: FrameNeed): void {
    const upload = this.#uploads.get(hex(need.sha256));
    if (!upload || need.region || upload.offset !== undefined) return;
    upload.held = false;
    upload.announced = true;
    this.say({ case: "frameBegin", value: upload.begin });
  }

  /** Nothing more comes of a question. */
  over(askId: string): void {
    this.#asks.delete(askId);
    this.#speeches.get(askId)?.end();
    this.#speeches.delete(askId);
    this.#cancels.delete(askId);
  }

  /** The server has forgotten. */
  forgotten(): void {
    this.#asks.delete(FORGET);
  }

  /**
   * There is a new link: what may not have arrived over the old one is said again.
   * @param resumed whether the session is the same. Of another one, frames come when they are needed
   */
  again(resumed: boolean): void {
    this.#window = new Window();
    if (!resumed) {
      this.#drops.clear();
      this.#played = undefined; // of a question that this session does not know
    }
    const wanted = new Set([...this.#asks.values()].map((ask) => ask.frame));
    for (const { start } of this.#speeches.values()) {
      const frame = start.message.case === "speechStart" ? start.message.value.request?.frames[0]?.source : undefined;
      if (frame?.case === "sha256") wanted.add(hex(frame.value));
    }
    this.#waiting = [];
    for (const [name, upload] of this.#uploads) {
      upload.offset = undefined;
      upload.held &&= resumed;
      upload.announced = (resumed ? upload.announced : upload.begin.pinned) || wanted.has(name);
      if (!upload.held && upload.announced) {
        this.#waiting.push(create(ClientMessageSchema, { message: { case: "frameBegin", value: upload.begin } }));
      }
    }
    if (this.#device) this.#waiting.push(this.#device);
    // A later question is understood after what was heard, so that is said first.
    if (this.#played) this.#waiting.push(this.#played);
    this.#waiting.push(...[...this.#asks.values()].map((ask) => ask.said));
    for (const speech of this.#speeches.values()) {
      speech.again();
      this.#waiting.push(speech.start);
    }
    this.#waiting.push(...this.#cancels.values(), ...this.#drops.values());
    this.#changed.tell();
  }

  /** The link has carried all that was sent before this ping. */
  pong(payload: Uint8Array): void {
    this.#window.answered(payload, performance.now());
    this.#changed.tell();
  }

  /**
   * What is to be sent next, together, when there is something. A question, which may be long, is the last of them.
   * @throws what `ending` was aborted with, once that is
   */
  async next(ending: AbortSignal): Promise<ClientMessage[]> {
    for (;;) {
      ending.throwIfAborted();
      const asks = this.#waiting.findIndex((each) => each.message.case === "ask");
      const most = asks < 0 ? MOST_MESSAGES : Math.min(asks + 1, MOST_MESSAGES);
      const batch = this.#waiting.splice(0, most);
      if (asks < 0) batch.push(...(this.#sound(MOST_MESSAGES - batch.length) ?? this.#part()));
      if (batch.length) return batch;
      await this.#changed.next();
    }
  }

  /** The next pieces of speech, before any of a frame: the wearer waits for its end. Undefined: there are none. */
  #sound(most: number): ClientMessage[] | undefined {
    const batch: ClientMessage[] = [];
    let bytes = 0;
    for (const speech of this.#speeches.values()) {
      while (batch.length < most && bytes < MOST_SOUND_BYTES) {
        const said = speech.next();
        if (!said) break;
        if (said.message.case === "audio") bytes += said.message.value.data.length;
        batch.push(said);
      }
    }
    return batch.length ? batch : undefined;
  }

  /** The next piece of the frame that was shown last and is not whole, if the link has room for it, and a ping. */
  #part(): ClientMessage[] {
    for (const upload of [...this.#uploads.values()].reverse()) {
      const offset = upload.offset;
      if (offset === undefined || offset >= upload.data.length) continue;
      const size = Math.min(this.#window.piece, upload.data.length - offset);
      if (this.#window.room < size) return [];
      const data = upload.data.subarray(offset, offset + size);
      upload.offset = offset + size;
      const part = { sha256: upload.begin.sha256, offset: BigInt(offset), data, crc32c: crc32c(data) };
      const payload = this.#window.sent(size, performance.now());
      return [
        create(ClientMessageSchema, { message: { case: "framePart", value: part } }),
        create(ClientMessageSchema, { message: { case: "ping", value: { payload } } }),
      ];
    }
    return [];
  }

  #forgetOldest(): void {
    let bytes = 0;
    for (const upload of this.#uploads.values()) bytes += upload.data.length;
    for (const [name, upload] of this.#uploads) {
      if (bytes <= MOST_BYTES || this.#uploads.size === 1) return;
      this.#uploads.delete(name);
      bytes -= upload.data.length;
    }
  }
}
