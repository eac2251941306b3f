// A session with the server (quizglass/v1/session.proto): pictures are sent before there is a question, and a link that
// is lost in the middle of an answer is taken up again where it was. Browsers cannot stream requests: `Attach` brings
// the server's messages, `Send` takes the page's.

import { CallError, UNAUTHENTICATED, call, headers, stream } from "./connect.js";
import { word } from "./turn.js";

const PART_BYTES = 32 * 1024;
const PARTS_AT_ONCE = 3;
/** Pieces of sound in a call. */
const PIECES_AT_ONCE = 8;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [250, 4000];
/** In which the server has to open the session, at each attempt. */
const CONNECT_MS = 5000;
/** Pieces of one speech that are kept to be sent again: some three minutes, the oldest go first. */
const MOST_PIECES = 4096;
/** Seconds before the piece of the first word that a server hears with it, where answers are paused meanwhile. */
const BEFORE_S = 2;
/** Codes that another attempt does not change. */
const LASTING = new Set([UNAUTHENTICATED, "permission_denied", "invalid_argument", "unimplemented"]);
/** Between two looks at how long the link has been silent. */
const LISTEN_MS = 500;
/** Times of `SessionLimits.progress_us` without a word, during a turn, after which a link is dead. */
const SILENT_PROGRESS = 2.5;

/**
 * @typedef {{data: string, playing?: object}} Piece
 * @typedef {{rateHz: number, endsBySilence?: boolean, pauses?: boolean, request: object}} Start
 * @typedef {{start: Start, pieces: Piece[], first: number, left: Piece[], next: number | null, voice: number, greeted: boolean,
 *   whole: boolean, ended: boolean, over: boolean, sending: boolean, announced: boolean, repeating: boolean, heard: boolean}} Speech
 * @typedef {{id: string, message: object, events: any[], wake: () => void, speech?: Speech}} Asked
 * @typedef {{sha256: string, bytes: Uint8Array}} Shown
 * @typedef {Shown & {held: boolean}} Frame
 */

export class Session {
  #holder = encoded(crypto.getRandomValues(new Uint8Array(32)));
  #id = "";
  #seq = "0";
  #state = "";
  /** @type {Map<string, Asked>} */
  #asks = new Map();
  /** @type {Frame | null} */
  #frame = null;
  #link = new AbortController();
  /** Milliseconds of the server's limits; 0: it has not opened the link yet. */
  #limits = { ping: 0, progress: 0 };
  /** Seconds of a spoken question that the server takes. */
  #longest = 0;
  /** When the link said something, and when it was asked after that whether it lives (0: it was not). */
  #heard = 0;
  #pinged = 0;
  #over = false;
  /** Whether answers are to be said aloud. */
  #aloud;
  /** Whether the server hears spoken questions, and whether it has a voice. */
  hears = false;
  speaks = false;
  #down = 0;
  /** Why the server takes no link from this page, until another attempt. @type {CallError | null} */
  #refused = null;
  /** Ends the wait before the next attempt to open the link. */
  #wake = () => {};
  /** The messages before, whether they arrived or not. */
  #said = Promise.resolve();
  /** What pictures are called: to read and hash one takes longer than to ask. @type {WeakMap<Blob, Promise<Shown>>} */
  #shown = new WeakMap();

  /** Whether this browser can: it names pictures by their hash for pages on this machine and over HTTPS only. */
  static possible() {
    return Boolean(globalThis.crypto?.subtle);
  }

  /**
   * @param {(open: boolean, resumed: boolean, why: string, refused?: boolean) => void} told is called when the link opens or is
   *   lost, or is refused, and not made again before `hurry`
   * @param {(fault: string, advice: string) => void} judged receives what is wrong with the latest picture, as it was taken
   * @param {{aloud?: boolean, after?: Session | null}} how whether answers are said aloud, and whose dialogue goes on
   */
  constructor(told, judged, { aloud = false, after = null } = {}) {
    this.told = told;
    this.judged = judged;
    this.#aloud = aloud;
    if (after) [this.#holder, this.#state] = [after.#holder, after.#state];
    this.#run();
  }

  /** Send a picture, so that the server looks at it before there is a question. @param {Blob} blob @returns {Promise<string>} its name */
  async show(blob) {
    const reading = this.#shown.get(blob) ?? named(blob);
    this.#shown.set(blob, reading);
    const shown = await reading;
    if (this.#frame?.sha256 !== shown.sha256) {
      this.#frame = { ...shown, held: false };
      this.#announce();
    }
    return shown.sha256;
  }

  /**
   * Ask, at once; the events of the turn, which have to be taken. Ending early ends the turn.
   * @param {object} request an AskRequest
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<any>}
   */
  ask(request, signal) {
    signal.throwIfAborted();
    const id = crypto.randomUUID();
    /** @type {Asked} */
    const asked = { id, message: { ask: { id, request } }, events: [], wake: () => {} };
    this.#asks.set(id, asked);
    signal.addEventListener("abort", () => {
      this.#say({ cancel: { askId: id } });
      this.#tell(id, new DOMException("stopped", "AbortError"));
    });
    if (this.#refused) this.#tell(id, this.#refused);
    this.#say(asked.message);
    return this.#events(asked);
  }

  /**
   * Ask what is spoken; its events are those of `ask`, and `{heard}`, `{speech}`, `{voice}`. It ends without
   * `done` where nothing was asked.
   * @param {object} request an AskRequest without its question
   * @param {{rateHz: number, pieces: AsyncIterable<Uint8Array>}} microphone
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<any>}
   */
  say(request, microphone, signal) {
    const asked = this.#speak({ rateHz: microphone.rateHz, request }, signal);
    this.#record(asked, microphone.pieces).then((all) => all && this.#complete(asked));
    return this.#events(asked);
  }

  /**
   * Ask whatever is spoken into a microphone that stays open, until it is stopped or the session ends. The server ends each
   * question by silence, and says with `{voice}` when an answer that is played should pause or stop.
   * @param {() => Promise<object>} request makes an AskRequest without its question
   * @param {{rateHz: number, pieces: AsyncIterable<Uint8Array>}} microphone
   * @param {(events: AsyncGenerator<any>, stop: AbortController) => void} begun is called before each question's first word
   */
  async listen(request, microphone, begun) {
    /** @type {Piece[]} */
    let left = [];
    while (!this.#over) {
      const stop = new AbortController();
      const start = { rateHz: microphone.rateHz, endsBySilence: true, pauses: true, request: await request() };
      const asked = this.#speak(start, stop.signal);
      begun(this.#events(asked), stop);
      for (const piece of left) this.#add(asked, piece);
      if (await this.#record(asked, microphone.pieces)) return this.#complete(asked);
      left = asked.speech?.left ?? [];
    }
  }

  /** What is played while sound is recorded, as `Playing`; nothing is. @type {() => object | undefined} */
  playing = () => undefined;

  /** Begin a spoken question. @param {Start} start a SpeechStart without its name @param {AbortSignal} signal @returns {Asked} */
  #speak(start, signal) {
    const id = crypto.randomUUID();
    const how = { whole: false, ended: false, over: false, sending: false, announced: false, repeating: false, heard: false };
    /** @type {Speech} */
    const speech = { start, pieces: [], first: 0, left: [], next: 0, voice: 0, greeted: false, ...how };
    /** @type {Asked} */
    const asked = { id, message: { speechStart: { id, ...start } }, events: [], wake: () => {}, speech };
    this.#asks.set(id, asked);
    signal.addEventListener("abort", () => {
      this.#say({ cancel: { askId: id } });
      this.#tell(id, new DOMException("stopped", "AbortError"));
    });
    if (this.#refused) this.#tell(id, this.#refused);
    this.#announceSpeeches();
    return asked;
  }

  /** Begin the spoken questions that the session does not know, each after those before it that are sent once more. */
  #announceSpeeches() {
    for (const { message, speech } of this.#asks.values()) {
      if (speech && !speech.announced) {
        speech.announced = true;
        this.#say(message);
      }
      if (speech?.repeating) return;
    }
  }

  /**
   * Have a spoken question asked in another session, which does not know it: by its sound, as long as it is not understood.
   * @param {Asked} asked @param {Speech} speech
   */
  #repeat(asked, speech) {
    speech.announced = speech.ended = false;
    speech.repeating = speech.over;
    if (speech.start.endsBySilence) trim(speech, this.#longest);
    if (speech.over) {
      speech.pieces = speech.pieces.map(({ data }) => ({ data })); // no answer that this session knows was played
      speech.whole = true;
      const { endsBySilence, pauses, ...start } = speech.start;
      if (speech.voice) asked.message = { speechStart: { id: asked.id, ...start } }; // where it begins and ends is known
    }
    if (!speech.heard && !speech.first) return;
    speech.repeating = false;
    this.#tell(asked.id, new CallError({ code: "session_lost", message: "The connection was lost for too long. Ask again." }));
  }

  /** So much of an answer was heard. @param {string} askId @param {number} segment all before it */
  played(askId, segment) {
    this.#say({ playback: { askId, segment, codePoint: 0 } });
  }

  /** Say no more of an answer. @param {string} askId */
  hush(askId) {
    this.#say({ cancel: { askId } });
  }

  /** Send what is recorded, until the server takes no more; whether all of it was read. @param {Asked} asked @param {AsyncIterable<Uint8Array>} pieces */
  async #record(asked, pieces) {
    const reader = pieces[Symbol.asyncIterator](); // left as it is: the next question reads on
    for (;;) {
      const { value, done } = await reader.next();
      if (done) return true;
      this.#add(asked, { data: encoded(value), playing: this.playing() });
      if (asked.speech?.over) return false;
    }
  }

  /** More was recorded; behind the end of a question it belongs to the next one. @param {Asked} asked @param {Piece} piece */
  #add(asked, piece) {
    const speech = asked.speech;
    if (!speech) return;
    if (speech.over) return void speech.left.push(piece);
    speech.pieces.push(piece);
    if (speech.pieces.length > MOST_PIECES) {
      speech.pieces.shift();
      speech.first += 1;
    }
    this.#pump(asked, speech);
  }

  /** Nothing more is recorded. @param {Asked} asked */
  #complete(asked) {
    if (!asked.speech) return;
    asked.speech.whole = true;
    this.#pump(asked, asked.speech);
  }

  /** Send what was recorded and not sent. @param {Asked} asked @param {Speech} speech */
  async #pump(asked, speech) {
    if (speech.sending) return;
    speech.sending = true;
    await this.#said; // what began it goes first
    const link = this.#link;
    while (speech.next !== null && (!speech.over || speech.repeating) && this.#link === link && !link.signal.aborted) {
      const at = Math.max(speech.next, speech.first); // what is not kept any more leaves a gap, which the server refuses
      const data = speech.pieces.slice(at - speech.first, at - speech.first + PIECES_AT_ONCE);
      speech.next = at + data.length;
      const messages = data.map((piece, more) => ({ audio: { id: asked.id, seq: String(at + more), ...piece } }));
      if (data.length) await this.#send(messages, link);
      else if (speech.whole && !speech.ended) {
        speech.ended = true;
        await this.#send([{ speechEnd: { id: asked.id, parts: String(speech.first + speech.pieces.length) } }], link);
      } else break;
    }
    speech.sending = false;
  }

  /** How far a spoken question is. @param {any} status */
  #listened(status) {
    const asked = this.#asks.get(status.id);
    const speech = asked?.speech;
    if (!asked || !speech) return;
    const known = speech.over;
    if (status.state === "STATE_ENDED") {
      speech.over = true;
      speech.repeating = false;
      // What came since is not of this question, which is kept until it is understood.
      const since = speech.pieces.splice(Math.max(0, Number(status.nextSeq ?? 0) - speech.first));
      if (!known) speech.left = since;
      this.#announceSpeeches();
    }
    if (status.state === "STATE_VOICE") speech.voice ||= Number(status.nextSeq ?? 0);
    if (status.state === "STATE_LISTENING") {
      if (speech.greeted || speech.next === null) Object.assign(speech, { next: Number(status.nextSeq ?? 0), ended: false });
      speech.greeted = true;
    }
    if (!known) this.#tell(asked.id, { voice: status });
    this.#pump(asked, speech);
  }

  /** Whether nothing more comes of a question with this. @param {any} event */
  #ends(event) {
    const heard = event.heard;
    if (heard?.final && (!heard.text || heard.command)) return true;
    return this.#aloud && this.speaks ? Boolean(event.spoken) : Boolean(event.done);
  }

  /** @param {Asked} asked */
  async *#events(asked) {
    try {
      for (;;) {
        const event = asked.events.shift();
        if (event instanceof Error) throw event;
        const ends = event && this.#ends(event);
        if (ends) this.#end(asked); // it may be the last that is taken
        if (event) yield event;
        if (ends) return;
        if (!asked.events.length) await new Promise((resolve) => (asked.wake = () => resolve(null)));
      }
    } finally {
      this.#end(asked);
    }
  }

  /** Nothing more comes of a question. @param {Asked} asked */
  #end(asked) {
    if (asked.speech) Object.assign(asked.speech, { over: true, repeating: false, pieces: [] });
    if (!this.#asks.delete(asked.id)) return;
    this.#announceSpeeches();
    this.#say({ ack: { seq: this.#seq } });
  }

  /** Lose the link, as a door between two rooms would have it. @param {number} ms for how long */
  cut(ms) {
    this.#down = ms;
    this.#link.abort();
  }

  /** Try now to open a lost link again, instead of when it is due. */
  hurry() {
    this.#wake();
  }

  /** End the session, also while the page is being left. */
  close() {
    this.#over = true;
    for (const id of this.#asks.keys()) this.#tell(id, new DOMException("stopped", "AbortError"));
    if (this.#id) leave({ ...this.#named, messages: [{ close: {} }] });
    this.#link.abort();
  }

  async #run() {
    for (let wait = FIRST_WAIT_MS; !this.#over; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      const link = (this.#link = new AbortController());
      let [why, shut, refused] = ["", false, false];
      const listening = this.#listen(link);
      const open = { holder: this.#holder, sessionId: this.#id, lastSeq: this.#seq, state: this.#state, output: { aloud: this.#aloud } };
      try {
        for await (const message of stream("SessionService/Attach", { open }, link.signal)) {
          wait = FIRST_WAIT_MS;
          this.#heard = performance.now();
          this.#pinged = 0;
          this.#take(message);
        }
      } catch (error) {
        why = error instanceof CallError ? error.message : "";
        shut = error instanceof CallError && LASTING.has(error.code);
        refused = error instanceof CallError && shut && error.code !== UNAUTHENTICATED; // questions wait for a login
        if (error instanceof CallError && refused) this.#refuse(error);
      }
      clearInterval(listening);
      if (this.#over) return;
      this.told(false, false, why, refused);
      await new Promise((resolve) => {
        this.#wake = () => resolve(null);
        if (!shut) setTimeout(resolve, Math.max(wait, this.#down));
      });
      this.#down = 0;
      this.#refused = null;
    }
  }

  /** No question is answered: those that wait fail, and those that come. @param {CallError} error */
  #refuse(error) {
    this.#refused = error;
    for (const id of this.#asks.keys()) this.#tell(id, error);
  }

  /**
   * Ask a silent link whether it is alive, and end one that does not answer: a network that is gone may not tell for minutes.
   * @param {AbortController} link
   */
  #listen(link) {
    this.#heard = performance.now();
    this.#pinged = 0;
    this.#limits = { ping: 0, progress: 0 };
    return setInterval(() => {
      const { ping, progress } = this.#limits;
      const now = performance.now();
      const silent = ping ? (this.#asks.size ? SILENT_PROGRESS * progress : 2 * ping) : CONNECT_MS;
      const asks = ping ? Math.min(ping, silent / 2) : silent;
      if (now - this.#heard < asks) return;
      if (!ping || (this.#pinged && now - this.#pinged >= silent - asks)) return link.abort();
      // A tab that was asleep asks first, however late it is.
      if (!this.#pinged) this.#say({ ping: {} });
      this.#pinged ||= now;
    }, LISTEN_MS);
  }

  /** @param {any} message of the server */
  #take(message) {
    if (message.state) this.#state = message.state;
    const numbered = !(message.opened || message.progress || message.goAway || message.pong);
    if (numbered) this.#seq = message.seq ?? this.#seq;
    if (message.opened) this.#opened(message.opened);
    else if (message.frameStatus) this.#follow(message.frameStatus);
    else if (message.needFrame) this.#announce();
    else if (message.turn) this.#tell(message.turn.askId, message.turn.event);
    else if (message.speechStatus) this.#listened(message.speechStatus);
    else if (message.transcript) this.#understood(message.transcript);
    else if (message.speech) this.#tell(message.speech.askId, { speech: message.speech });
    else if (message.spoken) this.#tell(message.spoken.askId, { spoken: message.spoken });
    else if (message.interrupted) this.#tell(message.interrupted.askId, new DOMException("stopped", "AbortError"));
    else if (message.notice) this.#fail(message.notice);
  }

  /** The link is there: say again what may not have arrived, which changes nothing where it has. @param {any} opened */
  #opened(opened) {
    const resumed = opened.restored === "RESTORED_ALL";
    if (!resumed) {
      this.#seq = "0";
      if (this.#frame) this.#frame.held = false;
    }
    this.#id = opened.sessionId;
    this.#limits = { ping: Number(opened.limits.pingUs) / 1000, progress: Number(opened.limits.progressUs) / 1000 };
    this.#longest = Number(opened.limits.maxSpeechUs ?? 0) / 1e6;
    this.hears = this.#longest > 0;
    this.speaks = Boolean(opened.limits.speaks);
    this.told(true, resumed, "");
    if (this.#frame && !this.#frame.held) this.#announce();
    for (const asked of this.#asks.values()) {
      const speech = asked.speech;
      if (speech && resumed && speech.over && !speech.repeating) continue; // its transcript comes
      if (speech) Object.assign(speech, { next: speech.greeted ? null : 0, sending: false });
      if (speech && !resumed) this.#repeat(asked, speech);
      if (!speech || speech.announced) this.#say(asked.message);
    }
    this.#announceSpeeches();
    for (const askId of opened.openAsks ?? []) if (!this.#asks.has(askId)) this.#say({ cancel: { askId } });
  }

  #announce() {
    const frame = this.#frame;
    if (frame) this.#say({ frameBegin: { sha256: frame.sha256, size: String(frame.bytes.length) } });
  }

  /** @param {any} status of a frame */
  async #follow(status) {
    const frame = this.#frame;
    if (!frame || status.sha256 !== frame.sha256) return;
    frame.held = status.state === "STATE_HELD";
    if (status.fault) this.judged(word(status.fault, "CAPTURE_FAULT_"), status.advice ?? "");
    if (status.state !== "STATE_SEND") return;
    const link = this.#link;
    const parts = [];
    for (let at = Number(status.offset ?? 0); at < frame.bytes.length; at += PART_BYTES) {
      const data = frame.bytes.subarray(at, at + PART_BYTES);
      parts.push({ framePart: { sha256: frame.sha256, offset: String(at), data: encoded(data), crc32c: crc32c(data) } });
    }
    while (parts.length && this.#frame === frame && this.#link === link) await this.#send(parts.splice(0, PARTS_AT_ONCE));
  }

  /** So much of a spoken question is understood. @param {any} transcript */
  #understood(transcript) {
    const speech = this.#asks.get(transcript.askId)?.speech;
    if (speech && transcript.final) Object.assign(speech, { heard: true, pieces: [] });
    this.#tell(transcript.askId, { heard: transcript });
  }

  /** @param {any} notice */
  #fail(notice) {
    const error = new CallError({ code: notice.reason, message: notice.text });
    if (notice.turnOver) this.#tell(notice.askId, error);
    else if (notice.frameSha256) for (const id of this.#asks.keys()) this.#tell(id, error);
  }

  /** @param {string} id of a question @param {any} event */
  #tell(id, event) {
    const asked = this.#asks.get(id);
    asked?.events.push(event);
    asked?.wake();
  }

  /** Send a message after those before: calls that are under way at once may pass each other. @param {object} message */
  #say(message) {
    const link = this.#link;
    this.#said = this.#said.then(() => this.#send([message], link));
  }

  /** By which the server knows whose messages these are. */
  get #named() {
    return { sessionId: this.#id, holder: this.#holder };
  }

  /** Send messages over a link. What does not arrive is said again over another one. @param {object[]} messages */
  async #send(messages, link = this.#link) {
    if (!this.#id || this.#over || link.signal.aborted) return;
    await call("SessionService/Send", { ...this.#named, messages }, link.signal).catch(() => link.abort());
  }
}

/**
 * Keep what another session can use of an open microphone, numbered anew: the question from shortly before its first word on, or
 * where none was heard as much as a question may have.
 * @param {Speech} speech @param {number} longest seconds of a question
 */
function trim(speech, longest) {
  const seconds = speech.pieces.map(({ data }) => (0.75 * data.length) / (2 * speech.start.rateHz));
  let begin = speech.voice ? last(seconds.slice(0, Math.max(0, speech.voice - 1 - speech.first)), (before) => before <= BEFORE_S) : 0;
  if (speech.over || !speech.voice) begin = Math.max(begin, last(seconds, (before, all) => all <= longest));
  if (speech.voice && speech.voice <= speech.first) return; // its beginning is not kept
  speech.pieces.splice(0, begin);
  speech.voice = speech.voice && speech.voice - speech.first - begin;
  speech.first = 0;
}

/** Where the last pieces begin that have enough seconds. @param {number[]} seconds @param {(before: number, all: number) => boolean} takes one more */
function last(seconds, takes) {
  let [at, all] = [seconds.length, 0];
  for (let more = seconds[at - 1]; more !== undefined && takes(all, all + more); more = seconds[at - 1]) {
    all += more;
    at -= 1;
  }
  return at;
}

/** Send a request that outlives the page. @param {object} request */
function leave(request) {
  const how = { method: "POST", headers: headers("application/json"), body: JSON.stringify(request), keepalive: true };
  fetch("/quizglass.v1.SessionService/Send", how).catch(() => {});
}

/** A picture's bytes and their hash. @param {Blob} blob @returns {Promise<Shown>} */
async function named(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return { sha256: encoded(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))), bytes };
}

/** Bytes in base64. @param {Uint8Array} bytes */
export function encoded(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

const CASTAGNOLI = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0x82f63b78 : byte >>> 1;
  return byte;
});

/** CRC-32C, RFC 3720. @param {Uint8Array} bytes */
export function crc32c(bytes) {
  let crc = ~0;
  for (const byte of bytes) crc = (crc >>> 8) ^ CASTAGNOLI[(crc ^ byte) & 255];
  return ~crc >>> 0;
}
