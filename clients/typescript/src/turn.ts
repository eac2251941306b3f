// What comes of a question: its events in order, each once, and how it ends.

import type { AskResponse, Done } from "./gen/quizglass/v1/assistant_pb.js";
import {
  type Interrupted,
  Interrupted_Cause,
  type Notice,
  type ServerMessage,
  SpeechTranscript_Command,
  type SpeechTranscript,
} from "./gen/quizglass/v1/session_pb.js";
import { Cancelled, type ClientError, errorOfNotice, Status } from "./errors.js";
import { Change } from "./waiting.js";

/** What the server says, by what it is about. */
export type ServerSaid = Exclude<ServerMessage["message"], { case: undefined }>;
/** An event of a turn: `case` names it, `value` is the message. */
export type TurnSaid = Extract<
  ServerSaid,
  { case: "turn" | "interrupted" | "needFrame" | "progress" | "speechStatus" | "transcript" | "speech" | "spoken" }
>;

/** A turn that is over. */
export interface Answer {
  /** What was answered. */
  readonly text: string;
  /** How it ended, with citations, times and what was left out. */
  readonly done: Done;
  /** All of its events, in order. */
  readonly events: readonly AskResponse[];
}

/** What a turn can ask of its session. */
export interface TurnOwner {
  cancel(turn: Turn): void;
  played(turn: Turn, segment: number, codePoint: number): void;
  playing(turn: Turn, seconds: number | undefined, paused: boolean): void;
}

/** One question of a session. Iterated, it gives its events as they come, until the turn is over. */
export class Turn implements AsyncIterable<TurnSaid> {
  #waiting: TurnSaid[] = [];
  #events: AskResponse[] = [];
  #interrupted: Interrupted | undefined;
  #transcript: SpeechTranscript | undefined;
  #answered = false;
  #error: ClientError | undefined;
  #over = false;
  readonly #changed = new Change();

  /** For the session only. */
  constructor(
    /** Its name in the session. */
    readonly id: string,
    private readonly owner: TurnOwner,
    /** Whether its answer comes as sound, too. */
    private aloud = false,
  ) {}

  /** Whether any of its events has come. */
  get begun(): boolean {
    return this.#events.length > 0 || this.#transcript !== undefined;
  }

  /** Whether its answer is there; its sound may still come. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Whether it has failed. */
  get failed(): boolean {
    return this.#error !== undefined;
  }

  /** Whether nothing more comes of it. */
  get over(): boolean {
    return this.#over;
  }

  /** @throws ClientError the turn, or the session, has failed */
  async *[Symbol.asyncIterator](): AsyncGenerator<TurnSaid, void, void> {
    for (;;) {
      const said = this.#waiting.shift();
      if (said) {
        yield said;
      } else if (!this.#over) {
        await this.#changed.next();
      } else {
        if (this.#error) throw this.#error;
        return;
      }
    }
  }

  /**
   * What was heard of a spoken question, once it is over; with an empty text nothing was, and no answer comes.
   * @throws Cancelled it was interrupted before
   * @throws ClientError it cannot be understood
   */
  async transcript(): Promise<SpeechTranscript> {
    while (!this.#transcript && !this.#over) await this.#changed.next();
    if (this.#error) throw this.#error;
    if (this.#transcript) return this.#transcript;
    throw new Cancelled("the question was interrupted", Status.CANCELLED, { reason: "INTERRUPTED" });
  }

  /**
   * The whole turn, when it is over; its events still come by iterating.
   * @throws Cancelled it was interrupted, or what was spoken is no question (NOTHING_HEARD, COMMAND)
   * @throws SessionLost the session could not be resumed while it was half told
   * @throws ClientError it has failed
   */
  async answer(): Promise<Answer> {
    while (!this.#answered) await this.#changed.next();
    if (this.#error) throw this.#error;
    if (this.#transcript && !asks(this.#transcript)) {
      const reason = this.#transcript.command ? "COMMAND" : "NOTHING_HEARD";
      throw new Cancelled("what was heard is no question", Status.CANCELLED, { reason });
    }
    const last = this.#events.at(-1);
    if (this.#interrupted || last?.event.case !== "done") {
      const cause = Interrupted_Cause[this.#interrupted?.cause ?? Interrupted_Cause.UNSPECIFIED];
      throw new Cancelled(`the turn was interrupted (${cause})`, Status.CANCELLED, { reason: "INTERRUPTED" });
    }
    return { text: last.event.value.answer, done: last.event.value, events: this.#events };
  }

  /** End it; one that is over is left as it is. */
  cancel(): void {
    this.owner.cancel(this);
  }

  /** So much of its answer was said: all before that segment, and so many code points of it. A session that is over is not told. */
  played(segment: number, codePoint: number): void {
    this.owner.played(this, segment, codePoint);
  }

  /**
   * So much of its answer's sound was played, and it goes on: from now on the microphone's sound is sent with that, so that the
   * answer is not taken for the wearer.
   * @param seconds of the answer's sound, from its beginning; undefined: it is played no more
   * @param paused whether it is paused there
   */
  playing(seconds: number | undefined, paused = false): void {
    this.owner.playing(this, seconds, paused);
  }

  /** For the session only: an event of it came. */
  take(said: TurnSaid): void {
    if (said.case === "turn" && said.value.event) this.#events.push(said.value.event);
    if (said.case === "interrupted") this.#interrupted = said.value;
    if (said.case === "transcript" && said.value.final) this.#transcript = said.value;
    this.#waiting.push(said);
    if (ends(said)) this.#answered = true;
    const done = said.case === "turn" && this.#answered;
    if ((done && !this.aloud) || (ends(said) && !done) || said.case === "spoken") this.#over = true;
    this.#changed.tell();
  }

  /** For the session only: a failure that is about it. */
  notice(notice: Notice): void {
    if (notice.turnOver) this.fail(errorOfNotice(notice));
  }

  /** For the session only: it has failed. Earlier events still come. */
  fail(error: ClientError): void {
    if (this.#over) return;
    if (!this.#answered) this.#error = error;
    this.#answered = true;
    this.#over = true;
    this.#changed.tell();
  }
}

/** Whether a turn is answered, or comes to nothing, with this. */
export function ends(said: ServerSaid): boolean {
  if (said.case === "transcript") return said.value.final && !asks(said.value);
  return said.case === "interrupted" || (said.case === "turn" && said.value.event?.event.case === "done");
}

/** Whether what was heard is a question, whose turn follows. */
function asks(heard: SpeechTranscript): boolean {
  return heard.text !== "" && heard.command === SpeechTranscript_Command.UNSPECIFIED;
}
