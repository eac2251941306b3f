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
  SpeechStart_Codec,
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
/** Seconds before the piece of the first word that a server hears with it, and the same where answers are paused meanwhile. */
const [BEFORE_S, BEFORE_PAUSED_S] = [0.5, 2];
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

/** The sound of one spoken question, which is being sent, or can be sent again. */
export class Speech {
  /** What came after its end, and belongs to what is spoken next. */
  left: Uint8Array[] = [];
  /** Resolves when nothing more of it is recorded. */
  readonly finished: Promise<void>;
  /** Whether another session had all of it, and that of now has not yet. */
  repeating = false;
  /** Whether sound that the session of now needs is not kept any more. */
  lost = false;
  #start: SpeechStart;
  /** Number of the piece before which the first word was heard; undefined: none was. */
  #voice: number | undefined;
  #forgotten = false;
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

  /** @param announced whether its start was sent in this session; else it waits until the speeches before it have arrived */
  constructor(
    start: SpeechStart,
    public announced = true,
  ) {
    this.#start = start;
    this.finished = new Promise((resolve) => (this.#finish = resolve));
  }

  /** What announces it. */
  get start(): ClientMessage {
    return create(ClientMessageSchema, { message: { case: "speechStart", value: this.#start } });
  }

  /** Name of the picture that it is about; undefined: there is none. */
  get frame(): string | undefined {
    const frame = this.#start.request?.frames[0]?.source;
    return frame?.case === "sha256" ? hex(frame.value) : undefined;
  }

  /** Whether nothing more of it is recorded. */
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
    while (this.#bytes > MOST_KEPT_SOUND_BYTES) this.#dropOldest(1);
    this.lost ||= this.#next !== undefined && this.#next < this.#first;
  }

  /** Nothing more is recorded. */
  complete(): void {
    this.#whole = true;
  }

  /** Nothing more is sent of it. */
  end(): void {
    this.#over = true;
    this.repeating = false;
    this.#pieces = [];
    this.#finish();
  }

  /** No other session is to have it. */
  forget(): void {
    this.#forgotten = true;
    if (this.#over) this.#pieces = [];
  }

  /** What the server has of it; gives whether that was not known from an earlier session. */
  status(status: SpeechStatus): boolean {
    const next = Number(status.nextSeq);
    let known = this.#over;
    if (status.state === SpeechStatus_State.ENDED) {
      this.repeating = false;
      if (!this.#over) this.#end(next);
    } else if (status.state === SpeechStatus_State.VOICE) {
      known &&= this.#voice !== undefined;
      this.#voice ??= next;
    } else if (status.state === SpeechStatus_State.LISTENING) {
      if (this.#next === undefined || this.#greeted) {
        this.#next = next;
        this.#ended = false;
        this.lost = next < this.#first;
      }
      this.#greeted = true;
    }
    return !known;
  }

  /**
   * There is a new link, over which the server says what it has.
   * @param resumed whether the session is the same. Another one needs the whole question
   * @param longestS seconds of sound that it takes at once
   */
  again(resumed: boolean, longestS: number): void {
    if (resumed && this.#over && !this.repeating) return; // its transcript comes
    this.#next = undefined;
    this.#greeted = true;
    if (resumed) return;
    this.announced = this.#ended = false;
    this.repeating = this.#over;
    if (this.#start.endsBySilence) this.#trim(longestS);
    if (this.#over) {
      this.#pieces = this.#pieces.map(({ data }) => ({ data, playing: undefined })); // no answer that this session knows
      this.#whole = true;
      // Where it begins and ends is known.
      if (this.#voice !== undefined) this.#start = { ...this.#start, endsBySilence: false, pauses: false };
    }
    this.lost = this.#forgotten || this.#first > 0;
  }

  /** What is to be sent next; undefined: nothing now. */
  next(): ClientMessage | undefined {
    if ((this.#over && !this.repeating) || this.#next === undefined || this.lost) return undefined;
    const id = this.#start.id;
    const at = this.#next - this.#first;
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

  /** The server has heard enough; what came since is not of this question, which is kept until it is understood. */
  #end(seq: number): void {
    this.left = this.#pieces.splice(Math.max(0, seq - this.#first)).map((piece) => piece.data);
    this.#over = true;
    this.#finish();
  }

  #dropOldest(count: number): void {
    for (const piece of this.#pieces.splice(0, count)) this.#bytes -= piece.data.length;
    this.#first += count;
  }

  /**
   * Keep what another session can use, numbered anew: the question from shortly before its first word on, or of an open
   * microphone in which none was heard as much as a question may have.
   */
  #trim(longestS: number): void {
    if (this.#voice !== undefined && this.#voice <= this.#first) return; // its beginning is not kept
    const seconds = this.#pieces.map(({ data }) => this.#seconds(data));
    let begin = 0;
    if (this.#voice !== undefined) {
      const before = seconds.slice(0, this.#voice - 1 - this.#first);
      begin = from(before, this.#start.pauses ? BEFORE_PAUSED_S : BEFORE_S, Infinity);
    }
    if (this.#over || this.#voice === undefined) begin = Math.max(begin, from(seconds, Infinity, longestS));
    this.#dropOldest(begin);
    if (this.#voice !== undefined) this.#voice -= this.#first;
    this.#first = 0;
  }

  #seconds(data: Uint8Array): number {
    const { codec, channels, rateHz } = this.#start;
    return codec === SpeechStart_Codec.OPUS ? opusSeconds(data) : data.length / (2 * channels * rateHz);
  }
}

/** Where the last pieces begin that have more than, and at most, so many seconds. */
function from(seconds: readonly number[], moreThanS: number, mostS: number): number {
  let at = seconds.length;
  for (let total = 0; at > 0 && total <= moreThanS && total + seconds[at - 1]! <= mostS; at--) total += seconds[at - 1]!;
  return at;
}

/** How long a packet's sound is, by its first bytes (RFC 6716, sections 3.1 and 3.2). */
function opusSeconds([head = 0, count = 0]: Uint8Array): number {
  const [config, frames] = [head >> 3, [1, 2, 2, count & 63][head & 3]!];
  const lengths = config < 12 ? [10, 20, 40, 60] : config < 16 ? [10, 20] : [2.5, 5, 10, 20];
  return (frames * lengths[config % lengths.length]!) / 1000;
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
      for (const speech of this.#speeches.values()) speech.forget();
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
    const first = ![...this.#speeches.values()].some((each) => each.repeating);
    const speech = new Speech(start, first);
    this.#speeches.set(start.id, speech);
    if (first) this.#waiting.push(speech.start);
    this.#changed.tell();
    return speech;
  }

  /** What the server has of a spoken question; gives whether that was not known from an earlier session. */
  spoken(status: SpeechStatus): boolean {
    this.#changed.tell();
    return this.#speeches.get(status.id)?.status(status) ?? true;
  }

  /** A spoken question is understood: its sound is not needed any more. */
  understood(askId: string): void {
    this.#speeches.get(askId)?.end();
    this.#speeches.delete(askId);
  }

  /** Send no more of a spoken question. The session that waits for the rest of it takes no other one until then. */
  giveUp(askId: string): void {
    const announced = this.#speeches.get(askId)?.announced;
    this.over(askId);
    if (announced) this.say({ case: "cancel", value: { askId } });
  }

  /** Names of spoken questions whose sound is needed and not kept any more. */
  get lostSpeeches(): string[] {
    return [...this.#speeches].filter(([, speech]) => speech.lost).map(([askId]) => askId);
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

  /** A question waits for a frame, and no longer where there is none to be sent. */
  need(need: FrameNeed): void {
    const upload = this.#uploads.get(hex(need.sha256));
    if (!upload && !need.region) this.drop(need.sha256);
    if (!upload || need.region || upload.offset !== undefined) return;
    upload.held = false;
    upload.announced = true;
    this.say({ case: "frameBegin", value: upload.begin });
  }

  /** Nothing more comes of a question. */
  over(askId: string): void {
    this.#asks.delete(askId);
    this.understood(askId);
    this.#cancels.delete(askId);
  }

  /** The server has forgotten. */
  forgotten(): void {
    this.#asks.delete(FORGET);
  }

  /**
   * There is a new link: what may not have arrived over the old one is said again.
   * @param resumed whether the session is the same. Of another one, frames come when they are needed
   * @param longestS seconds of a spoken question that it takes
   */
  again(resumed: boolean, longestS = Infinity): void {
    this.#window = new Window();
    if (!resumed) {
      this.#drops.clear();
      this.#played = undefined; // of a question that this session does not know
    }
    const wanted = new Set([...this.#asks.values()].map((ask) => ask.frame));
    for (const { frame } of this.#speeches.values()) if (frame) wanted.add(frame);
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
    const cancels = [...this.#cancels].map(([askId, said]) => ({ askId, said, known: this.#asks.has(askId) || this.#speeches.has(askId) }));
    // What was given up ends before others are listened to.
    if (resumed) for (const { said, known } of cancels) if (!known) this.#waiting.push(said);
    if (!resumed) for (const { askId, known } of cancels) if (!known) this.#cancels.delete(askId);
    this.#waiting.push(...[...this.#asks.values()].map((ask) => ask.said));
    for (const speech of this.#speeches.values()) {
      speech.again(resumed, longestS);
      // Another session takes one speech after the other, so that they are announced as they are sent.
      if (speech.announced && (speech.repeating || !speech.over)) this.#waiting.push(speech.start);
    }
    for (const { said, known } of cancels) if (known) this.#waiting.push(said);
    this.#waiting.push(...this.#drops.values());
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
    for (const [askId, speech] of this.#speeches) {
      if (!speech.announced && batch.length < most) {
        speech.announced = true;
        batch.push(speech.start);
        const cancel = this.#cancels.get(askId);
        if (cancel) this.#waiting.push(cancel); // the session did not know it when that was said
      }
      while (batch.length < most && bytes < MOST_SOUND_BYTES) {
        const said = speech.next();
        if (!said) break;
        if (said.message.case === "audio") bytes += said.message.value.data.length;
        batch.push(said);
      }
      if (speech.repeating || !speech.announced) break; // a session listens to one at a time
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
