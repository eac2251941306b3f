// A wearable's session with a quizglass server; how it goes over the wire is in docs/session.md.

import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { AskRequestSchema } from "./gen/quizglass/v1/assistant_pb.js";
import {
  DeviceState_Heat,
  DeviceState_Link,
  type DeviceStateSchema,
  FrameBegin_Role,
  type FrameNeed,
  type NeedFrame,
  type Opened,
  Opened_Restored,
  SessionAsk_Overlap,
  SessionAskSchema,
  type SessionLimits,
  type Playing,
  PlayingSchema,
  SpeechStart_Codec,
  SpeechStartSchema,
} from "./gen/quizglass/v1/session_pb.js";
import { Cancelled, type ClientError, InvalidRequest, invalid, SessionLost, Status } from "./errors.js";
import { type Kept, Keeper } from "./keeper.js";
import type { Transport } from "./link.js";
import { type SessionOptions, word } from "./options.js";
import { Outgoing, type Speech } from "./outgoing.js";
import { type Behind, type Cutter, type PictureCodec, type Sharper, Thumbnails } from "./pictures.js";
import { Recording } from "./recording.js";
import { type Answer, type ServerSaid, Turn } from "./turn.js";
import { Change } from "./waiting.js";

const MOST_NEWS = 1024;
const SHA256_BYTES = 32;
/** Beyond the numbers of the protocol. */
const MOST = 2 ** 31;
/** Bytes of a question: what a `SendRequest` takes, less what goes around it. */
const MOST_ASK_BYTES = 250 * 1024;
const OVERLAPS = {
  interrupt: SessionAsk_Overlap.INTERRUPT,
  queue: SessionAsk_Overlap.QUEUE,
  refuse: SessionAsk_Overlap.REFUSE,
} as const;
const CODECS = { pcm16: SpeechStart_Codec.PCM16, opus: SpeechStart_Codec.OPUS } as const;
/** Before listening again, where that failed. */
const PAUSE_MS = 1_000;
const HEATS = { normal: DeviceState_Heat.NORMAL, warm: DeviceState_Heat.WARM, hot: DeviceState_Heat.HOT } as const;
const LINKS = { good: DeviceState_Link.GOOD, fair: DeviceState_Link.FAIR, poor: DeviceState_Link.POOR } as const;

/** Events of the session, and not of one of its turns. */
export type News =
  /** The link broke; another one is being made. */
  | { case: "lost"; reason: string }
  /** There is a link again, and how much of the session; `reason` says why not all. `afterMs`: how long there was none. */
  | { case: "restored"; restored: Opened_Restored; reason: string; afterMs: number }
  /** A part of a thumbnail was asked for, and what should have cut it threw this; the turn goes on without. */
  | { case: "cutFailed"; frame: Uint8Array; error: unknown }
  | Extract<ServerSaid, { case: "frameStatus" | "notice" | "goAway" | "posture" | "forgotten" }>;

/** How a picture is shown. */
export interface ShowOptions {
  /** Whether the server is to keep it until it is dropped, or shown again without this. */
  pinned?: boolean;
  /**
   * Send it no larger than this, in pixels a side, and keep it in full: the parts that the server wants to see sharper are
   * sent when it asks for them. Needs `SessionOptions.pictures`. 0 (default): as large as the server can use.
   */
  thumbnail?: number;
  /**
   * For programs that make thumbnails themselves: what is shown is one, and this is the picture in full, which is sent as a
   * whole when the server wants to see more, or what cuts the part that it names.
   */
  full?: Uint8Array | Cutter;
}

/** How a device is. */
export interface Device {
  /** Charge of its battery, in percent. */
  battery?: number;
  /** Whether it is being charged. */
  charging?: boolean;
  heat?: keyof typeof HEATS;
  link?: keyof typeof LINKS;
}

/** How a question is spoken. */
export interface SayOptions extends AskOptions {
  /** Samples a second in each channel; default: 16000. */
  rateHz?: number;
  /** Channels, side by side; default: 1. */
  channels?: number;
  /** Whether the server ends the question, when something was said and there is silence: for a microphone that stays open. */
  endsBySilence?: boolean;
  /** Tag of the spoken language, such as "en"; default: the server finds out. */
  language?: string;
  /** What the pieces are: 16-bit PCM (default), or a packet of Opus each, whose rate and channels are its own. */
  codec?: keyof typeof CODECS;
  /**
   * Whether the program pauses an answer at `speechStatus` PAUSE and plays on at RESUME; it says by `Turn.playing` that it does.
   */
  pauses?: boolean;
}

/** How questions are spoken into a microphone that stays open: the server ends each by silence. */
export type ListenOptions = Omit<SayOptions, "endsBySilence">;

/** A spoken question whose sound is being sent. */
interface Begun {
  readonly speech: Speech;
  readonly turn: Turn;
}

/** What may be said with a question. */
export interface AskOptions {
  /** Name of a picture that was shown. */
  frame?: Uint8Array;
  /** What becomes of it while another question runs: that one ends (default), it waits, or it fails. */
  overlap?: keyof typeof OVERLAPS;
  /** One that the server has; default: its own. */
  policy?: string;
  /** Milliseconds to answer in, once its turn has come and its picture is there. Default: the server's. */
  budgetMs?: number;
  /** Tokens of the answer, at most, which is cut there. 0 (default): the bundle's own limit. */
  maxAnswerTokens?: number;
  /** Questions and answers since, without the server, oldest first. */
  history?: readonly (readonly [question: string, answer: string])[];
  /** Whether the server may remember the picture, and whether the answer may come from what it remembers. */
  memory?: { remember?: boolean; recall?: boolean };
  /** A name of the dialogue, of the caller's choice, by which the memory finds it. */
  sessionId?: string;
  /** Whether every step is reported. */
  explain?: boolean;
}

/**
 * A wearable's session. It lasts while links come and go: a broken link is made anew and goes on where it was, in the middle
 * of an answer or of a picture. What could not be saved is reported by `news`, and fails the questions that it concerns.
 */
export class Session implements Kept {
  /** For `Keeper` only. */
  readonly outgoing = new Outgoing();
  readonly #turns = new Map<string, Turn>();
  #news: News[] = [];
  readonly #changed = new Change();
  readonly #keeper: Keeper;
  readonly #pictures: PictureCodec | undefined;
  readonly #thumbnails = new Thumbnails();
  #device: MessageInitShape<typeof DeviceStateSchema> = {};
  #count = 0;
  readonly #aloud: boolean;
  #playing: Playing | undefined;
  /** How often `forget` was called. */
  #forgotten = 0;

  private constructor(transport: Transport, options: SessionOptions) {
    this.#keeper = new Keeper(transport, this, options);
    this.#pictures = options.pictures;
    this.#aloud = options.output?.aloud ?? false;
  }

  /** Open a session. @throws ClientError it cannot be opened */
  static async open(transport: Transport, options: SessionOptions = {}): Promise<Session> {
    if (!globalThis.crypto?.subtle) {
      throw new InvalidRequest(
        "pictures are named by SHA-256, for which browsers want a page on localhost or over HTTPS",
        Status.INVALID_ARGUMENT,
        { reason: "INSECURE_PAGE" },
      );
    }
    const session = new Session(transport, options);
    await session.#keeper.start();
    return session;
  }

  /** End it; what runs is cancelled, and the server lets its pictures go. */
  close(): Promise<void> {
    return this.#keeper.close();
  }

  /**
   * Send a picture before there is a question about it; its name for `ask`. It arrives while the program goes on, between
   * other messages, and is looked at by the server meanwhile.
   * @param picture JPEG, PNG or WebP; made no larger than `frameSide` where there is something that can (`pictures`)
   * @throws InvalidRequest `thumbnail` cannot be
   * @throws Cancelled `forget` was called while the picture was made ready, which is not sent; reason FORGOTTEN
   */
  async show(picture: Uint8Array, options: ShowOptions = {}): Promise<Uint8Array> {
    this.#check();
    if (!(picture instanceof Uint8Array)) throw invalid("picture", `a ${typeof picture} is no picture; give its encoded bytes, a Uint8Array`);
    const forgotten = this.#forgotten;
    const { pinned = false, thumbnail = 0, full } = options;
    const data = picture.slice(); // theirs may change while it is on its way
    if (full) return this.#thumbnail(data, pinned, forgotten, full instanceof Uint8Array ? { full: full.slice() } : { cut: full });
    const codec = this.#pictures;
    if (!(thumbnail >= 0)) throw invalid("thumbnail", `${thumbnail} is no number of pixels; give 0 for the usual size`);
    if (!codec) {
      if (thumbnail) throw invalid("thumbnail", "nothing here makes pictures smaller; give `pictures`, or `full`");
      return this.#send({ data, begin: { pinned } }, forgotten);
    }
    const small = await codec.fit(data, thumbnail || this.frameSide);
    if (!thumbnail || same(small, data)) return this.#send({ data: small, begin: { pinned } }, forgotten);
    return this.#thumbnail(small, pinned, forgotten, { full: data, cut: (part) => codec.cut(data, part.region, part.leastSide) });
  }

  /** Have a picture of that name let go. */
  drop(frame: Uint8Array): void {
    this.#check();
    checkFrame(frame);
    this.#thumbnails.drop(frame);
    this.outgoing.drop(frame);
  }

  /**
   * Tell how the device is; what is left out is as it was. What the session makes of it comes by `news`.
   * @throws InvalidRequest one of these cannot be
   */
  device(device: Device): void {
    this.#check();
    const { battery, charging } = device;
    if (battery !== undefined && !(Number.isInteger(battery) && battery >= 0 && battery <= 100)) {
      throw invalid("battery", `${battery} is not between 0 and 100`);
    }
    const heat = word("heat", device.heat, HEATS);
    const link = word("link", device.link, LINKS);
    this.#device = {
      ...this.#device,
      ...(battery !== undefined && { batteryPercent: battery }),
      ...(charging !== undefined && { charging }),
      ...(heat && { heat }),
      ...(link && { link }),
    };
    this.outgoing.say({ case: "deviceState", value: this.#device });
  }

  /** Have the session forget pictures and dialogue, and end what runs. `news` has the receipt, `forgotten`. */
  forget(): void {
    this.#check();
    this.#forgotten += 1;
    this.#thumbnails.clear();
    this.outgoing.say({ case: "forget", value: {} });
  }

  /**
   * Ask a question; its events come by the turn. What was said and heard in the session is known.
   * @throws ClientError the session was given up, or the question cannot be sent
   */
  ask(question: string, options: AskOptions = {}): Turn {
    this.#check();
    const [id, overlap] = [this.#name(), overlapOf(options)];
    const ask = create(SessionAskSchema, { id, overlap, request: request(question, options) });
    checkSize(toBinary(SessionAskSchema, ask));
    const turn = this.#turn(id);
    this.outgoing.say({ case: "ask", value: ask });
    this.#keeper.stir();
    return turn;
  }

  /**
   * Ask a question that is spoken; `Turn.transcript` is what was heard. It returns at once: sound is sent as it is recorded.
   * @param audio pieces of 16-bit PCM, whole samples, at most 32 KiB each, as they are recorded; their end ends the question
   * @throws InvalidRequest the server hears nothing, or an option cannot be
   */
  say(audio: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, options: SayOptions = {}): Turn {
    const { speech, turn } = this.#speak(options);
    const recording = new Recording(audio);
    void this.#record(recording, speech, turn).finally(() => recording.close());
    return turn;
  }

  /**
   * Ask whatever is spoken into a microphone that stays open, question after question, until its pieces end or the iteration is left.
   *
   * Each turn comes when its question is listened for, before its first word, and the next one when that was spoken. What was
   * heard is `Turn.transcript`, which is empty where that was nothing. With `pauses`, the turn that is listened for has a
   * `speechStatus` PAUSE as soon as the wearer may have begun to speak over an answer: pause it, and tell by `Turn.playing`.
   * VOICE follows, or RESUME: play on.
   * @param audio pieces of sound as for `say`
   * @throws InvalidRequest the server hears nothing, or an option cannot be
   */
  async *listen(
    audio: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: ListenOptions = {},
  ): AsyncGenerator<Turn, void, void> {
    const first = this.#speak({ ...options, endsBySilence: true });
    const [recording, turns, more] = [new Recording(audio), [first.turn], new Change()];
    let over = false;
    const begun = (turn: Turn): void => {
      turns.push(turn);
      more.tell();
    };
    void this.#listen(recording, options, first, begun).finally(() => {
      over = true;
      more.tell();
    });
    try {
      for (;;) {
        const turn = turns.shift();
        if (turn) yield turn;
        else if (over) return;
        else await more.next();
      }
    } finally {
      recording.close();
      if (!this.#keeper.failure) for (const unread of turns) unread.cancel();
    }
  }

  /** Ask a question and wait for the whole answer; errors as those of `ask` and of `Turn.answer`. */
  answer(question: string, options: AskOptions = {}): Promise<Answer> {
    return this.ask(question, options).answer();
  }

  /** Events of the session and not of its turns: links lost and restored, pictures, failures. Ends with the session. */
  async *news(): AsyncGenerator<News, void, void> {
    for (;;) {
      const news = this.#news.shift();
      if (news) yield news;
      else if (this.#keeper.failure) return;
      else await this.#changed.next();
    }
  }

  /** The network may have changed: see at once whether the link is alive, and do not wait to make a new one. */
  hintReconnect(): void {
    this.#keeper.hint();
  }

  /**
   * What a later session can take the dialogue from (`SessionOptions.state`), here or in another program; empty as long as
   * there is none. Whoever has it can go on with the dialogue: keep it as a secret.
   */
  get state(): Uint8Array {
    return this.#keeper.state;
  }

  /** Pixels a side beyond which a picture brings nothing, as the device is; 0: not known. */
  get frameSide(): number {
    return this.#keeper.posture?.frameSide || this.limits?.usefulPictureSide || 0;
  }

  /** What the server has told of its limits. */
  get limits(): SessionLimits | undefined {
    return this.#keeper.limits;
  }

  /** How many links there were so far. */
  get links(): number {
    return this.#keeper.links;
  }

  // For `Turn` and `Keeper` only.

  cancel(turn: Turn): void {
    if (turn.over) return;
    this.#check();
    this.outgoing.say({ case: "cancel", value: { askId: turn.id } });
  }

  played(turn: Turn, segment: number, codePoint: number): void {
    checkCount("segment", segment, 0);
    checkCount("codePoint", codePoint, 0);
    if (this.#keeper.failure) return; // the answer was there before
    this.outgoing.say({ case: "playback", value: { askId: turn.id, segment, codePoint } });
  }

  playing(turn: Turn, seconds: number | undefined, paused: boolean): void {
    if (seconds !== undefined && !(seconds >= 0 && seconds < MOST)) throw invalid("seconds", `${seconds} is not 0 or more`);
    const atUs = BigInt(Math.round((seconds ?? 0) * 1e6));
    this.#playing = seconds === undefined ? undefined : create(PlayingSchema, { askId: turn.id, atUs, paused });
  }

  get busy(): boolean {
    return [...this.#turns.values()].some((turn) => !turn.answered);
  }

  opened(opened: Opened, afterMs: number, first: boolean): void {
    const { restored, restoredReason: reason } = opened;
    if (!first && restored !== Opened_Restored.ALL) this.#lose(reason);
    if (!first || restored !== Opened_Restored.UNSPECIFIED) this.#tell({ case: "restored", restored, reason, afterMs });
    this.outgoing.again(restored === Opened_Restored.ALL, Number(opened.limits?.maxSpeechUs ?? 0) / 1e6);
    this.#loseSpeeches();
  }

  lost(reason: string): void {
    this.#tell({ case: "lost", reason });
  }

  said(said: ServerSaid): void {
    switch (said.case) {
      case "frameStatus":
        this.outgoing.status(said.value);
        this.#tell(said);
        break;
      case "needFrame":
        this.#need(said.value);
        this.#turns.get(said.value.askId)?.take(said);
        break;
      case "speechStatus":
        if (this.outgoing.spoken(said.value)) this.#turns.get(said.value.id)?.take(said);
        this.#loseSpeeches();
        break;
      case "turn":
      case "interrupted":
      case "progress":
      case "transcript":
      case "speech":
      case "spoken":
        this.#turns.get(said.value.askId)?.take(said);
        if (said.case === "transcript" && said.value.final) this.outgoing.understood(said.value.askId);
        if (said.case === "interrupted" && !this.#turns.has(said.value.askId)) this.outgoing.over(said.value.askId); // given up
        this.#forget(said.value.askId);
        break;
      case "notice": {
        const turn = this.#turns.get(said.value.askId);
        // A question of which nothing was done is asked again over the next link.
        if (turn && said.value.turnOver && said.value.reason === "STOPPING" && !turn.begun) break;
        turn?.notice(said.value);
        this.#forget(said.value.askId);
        this.#tell(said);
        break;
      }
      case "forgotten":
        this.outgoing.forgotten();
        this.#tell(said);
        break;
      case "posture":
      case "goAway":
        this.#tell(said);
    }
  }

  failed(error: ClientError): void {
    for (const turn of this.#turns.values()) {
      turn.fail(error);
      this.outgoing.over(turn.id);
    }
    this.#turns.clear();
    this.#changed.tell();
  }

  /** Send a picture, unless `forget` was called since. */
  async #send(sharper: Sharper, forgotten: number): Promise<Uint8Array> {
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", sharper.data as BufferSource));
    this.#check();
    if (this.#forgotten !== forgotten) {
      const told = "the session forgot its pictures while this one was made ready";
      throw new Cancelled(told, Status.CANCELLED, { reason: "FORGOTTEN" });
    }
    this.outgoing.show(sha256, sharper.data, sharper.begin);
    return sha256;
  }

  async #thumbnail(small: Uint8Array, pinned: boolean, forgotten: number, behind: Behind): Promise<Uint8Array> {
    const sha256 = await this.#send({ data: small, begin: { pinned, role: FrameBegin_Role.THUMBNAIL } }, forgotten);
    this.#thumbnails.keep(sha256, behind);
    return sha256;
  }

  #need(need: NeedFrame): void {
    for (const frame of need.frames) {
      this.outgoing.need(frame);
      if (frame.region) void this.#showPart(frame);
    }
  }

  async #showPart(need: FrameNeed): Promise<void> {
    const forgotten = this.#forgotten;
    try {
      const sharper = await this.#thumbnails.sharper(need);
      if (sharper && !this.#keeper.failure) await this.#send(sharper, forgotten);
    } catch (error) {
      if (!this.#keeper.failure && this.#forgotten === forgotten) this.#tell({ case: "cutFailed", frame: need.sha256, error });
    }
  }

  #name(): string {
    return `${(this.#count += 1)}-${crypto.randomUUID().slice(0, 8)}`;
  }

  #turn(id: string): Turn {
    const turn = new Turn(id, this, this.#aloud && this.limits?.speaks === true);
    this.#turns.set(id, turn);
    return turn;
  }

  /** Begin a spoken question. */
  #speak(options: SayOptions): Begun {
    this.#check();
    if (this.limits && !this.limits.maxSpeechUs) throw invalid("audio", "the server hears nothing; ask in text");
    const { rateHz = 16_000, channels = 1, endsBySilence = false, language = "", pauses = false } = options;
    checkCount("rateHz", rateHz, 1);
    checkCount("channels", channels, 1);
    const [id, overlap, codec] = [this.#name(), overlapOf(options), word("codec", options.codec, CODECS) ?? CODECS.pcm16];
    const about = { rateHz, channels, codec, endsBySilence, language, pauses, overlap, request: request("", options) };
    const start = create(SpeechStartSchema, { id, ...about });
    checkSize(toBinary(SpeechStartSchema, start)); // what cannot be sent throws here, and would break every link
    const speech = this.outgoing.speak(start);
    const turn = this.#turn(id);
    this.#keeper.stir();
    return { speech, turn };
  }

  /** Send what is recorded, until it ends, or the server has heard enough. */
  async #record(recording: Recording, speech: Speech, turn: Turn): Promise<void> {
    try {
      while (!speech.over && !this.#keeper.failure) {
        const piece = await recording.next();
        if (!piece) break;
        speech.add(piece, this.#playing);
        this.#loseSpeeches();
        this.outgoing.recorded();
      }
    } catch (error) {
      if (speech.over) return; // it was heard; the next question gets the error
      if (!this.#keeper.failure) this.outgoing.say({ case: "cancel", value: { askId: turn.id } });
      turn.fail(new InvalidRequest(`the sound cannot be recorded: ${String(error)}`, Status.INVALID_ARGUMENT, { reason: "AUDIO" }));
      this.#forget(turn.id);
      recording.close();
      return;
    }
    speech.complete();
    this.outgoing.recorded();
  }

  /** Send question after question of a microphone that stays open, whether their turns are read or not. */
  async #listen(recording: Recording, options: ListenOptions, first: Begun, begun: (turn: Turn) => void): Promise<void> {
    for (let { speech, turn } = first; ; begun(turn)) {
      await this.#record(recording, speech, turn);
      await speech.finished;
      recording.giveBack(speech.left);
      if (turn.failed && !recording.ended) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (recording.ended || this.#keeper.failure) break;
      ({ speech, turn } = this.#speak({ ...options, endsBySilence: true }));
    }
    recording.close();
  }

  /** Questions that were half answered cannot be taken up again in a new session. */
  #lose(reason: string): void {
    for (const turn of this.#turns.values()) {
      if (!turn.begun) continue;
      const told = `the session could not be resumed: ${reason}; ask again`;
      turn.fail(new SessionLost(told, Status.UNAVAILABLE, { reason }));
      this.#forget(turn.id);
    }
  }

  /** Spoken questions whose sound is needed again and not kept cannot be asked. */
  #loseSpeeches(): void {
    for (const askId of this.outgoing.lostSpeeches) {
      const told = "the sound of this question was lost with the link, and is not kept any more; say it again";
      this.#turns.get(askId)?.fail(new SessionLost(told, Status.UNAVAILABLE, { reason: "SOUND_LOST" }));
      this.#turns.delete(askId);
      this.outgoing.giveUp(askId);
    }
  }

  #forget(askId: string): void {
    const turn = this.#turns.get(askId);
    if (turn?.answered) this.outgoing.over(askId);
    if (turn?.over) this.#turns.delete(askId);
  }

  #tell(news: News): void {
    this.#news.push(news);
    if (this.#news.length > MOST_NEWS) this.#news.shift();
    this.#changed.tell();
  }

  #check(): void {
    if (this.#keeper.failure) throw this.#keeper.failure;
  }
}

function overlapOf(options: AskOptions): SessionAsk_Overlap {
  const overlap = OVERLAPS[options.overlap ?? "interrupt"];
  if (overlap === undefined) throw invalid("overlap", `${options.overlap} is not interrupt, queue or refuse`);
  return overlap;
}

/** See that a question fits a message. @throws InvalidRequest it does not */
function checkSize(encoded: Uint8Array): void {
  if (encoded.length > MOST_ASK_BYTES) throw invalid("question", `with what was said, it has more than ${MOST_ASK_BYTES} bytes`);
}

/** See that something can be the name of a picture. @throws InvalidRequest it cannot */
function checkFrame(frame: Uint8Array): void {
  if (!(frame instanceof Uint8Array)) throw invalid("frame", `a ${typeof frame} is no name of a picture; give what show() returned`);
  if (frame.length !== SHA256_BYTES) throw invalid("frame", `${frame.length} bytes are no name of a picture; give what show() returned`);
}

/** See that a question is made of texts: programs without types give anything. @throws InvalidRequest it is not */
function checkTypes(question: string, { policy = "", sessionId = "", history = [] }: AskOptions): void {
  for (const [name, value] of Object.entries({ question, policy, sessionId })) {
    if (typeof value !== "string") throw invalid(name, `a ${typeof value} is no text`);
  }
  const pairs = Array.isArray(history) ? history : [undefined];
  for (const [at, pair] of pairs.entries()) {
    const texts = Array.isArray(pair) && pair.length === 2 && pair.every((each) => typeof each === "string");
    if (!texts) throw invalid(`history[${at}]`, "is no pair of a question and its answer");
  }
}

/** See that a whole number can be sent. @throws InvalidRequest it cannot, or is less than `least` */
function checkCount(name: string, value: number, least: number): void {
  if (!(Number.isInteger(value) && value >= least && value < MOST)) throw invalid(name, `${value} is no whole number from ${least} on`);
}

function same(one: Uint8Array, other: Uint8Array): boolean {
  return one === other || (one.length === other.length && one.every((byte, at) => byte === other[at]));
}

function request(question: string, options: AskOptions): MessageInitShape<typeof AskRequestSchema> {
  checkTypes(question, options);
  const { frame, policy = "", budgetMs, maxAnswerTokens = 0, history = [], memory, sessionId = "", explain = false } = options;
  if (frame) checkFrame(frame);
  if (budgetMs !== undefined && !(typeof budgetMs === "number" && budgetMs > 0 && budgetMs <= 86_400_000)) {
    throw invalid("budgetMs", `${budgetMs} is not above 0 and at most 86400000 ms`);
  }
  if (!(Number.isInteger(maxAnswerTokens) && maxAnswerTokens >= 0 && maxAnswerTokens < 2 ** 31)) {
    throw invalid("maxAnswerTokens", `${maxAnswerTokens} is no number of tokens; 0 is as many as the bundle says`);
  }
  return {
    question,
    frames: frame ? [{ source: { case: "sha256", value: frame } }] : [],
    history: history.map(([asked, answer]) => ({ question: asked, answer })),
    policy,
    budgetUs: BigInt(Math.max(budgetMs === undefined ? 0 : 1, Math.round((budgetMs ?? 0) * 1000))),
    maxAnswerTokens,
    sessionId,
    explain,
    ...(memory && { memory }),
  };
}
