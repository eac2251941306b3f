// How a session is kept, and what its answers should look like.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type OutputProfileSchema, OutputProfile_Markup, OutputProfile_Speech } from "./gen/quizglass/v1/session_pb.js";
import { invalid } from "./errors.js";
import type { PictureCodec } from "./pictures.js";

export const HOLDER_BYTES = 32;
const MOST = 2 ** 31;
const MARKUPS = { none: OutputProfile_Markup.NONE } as const;
const SPEECHES = { english: OutputProfile_Speech.ENGLISH } as const;

/** What answers should look like, for ears and small displays. It shapes segments; events have the answer as it was written. */
export interface OutputProfile {
  /** Longest segment, in code points; 0 (default): the server's own. */
  maxSegmentChars?: number;
  /** Most words of an answer; 0 (default): any number. The rest can be asked for ("Go on"). */
  maxWords?: number;
  /** Lines of a display; 0 (default): any number. Needs `maxColumns`. */
  maxLines?: number;
  /** Columns of a display, as terminals count them; 0 (default): there is none. */
  maxColumns?: number;
  /** "none": marks such as **this** are left out. Default: as it was written. */
  markup?: keyof typeof MARKUPS;
  /** "english": numbers, units and abbreviations as they are said. Default: as it was written. */
  speech?: keyof typeof SPEECHES;
  /** Whether answers come as sound, too, where the server has a voice; a turn is over once it is said then. */
  aloud?: boolean;
  /** Milliseconds without a word of an answer after which `leadIn` is said; 0 (default): never. */
  leadInAfterMs?: number;
  /** What is said then; default: the server's own words. */
  leadIn?: string;
}

/** How a session is kept. */
export interface SessionOptions {
  /** Milliseconds in which the server has to answer, at each attempt. Default: 5000. */
  connectTimeoutMs?: number;
  /** Milliseconds without a link after which the session is given up; Infinity: never. Default: 120000. */
  patienceMs?: number;
  /** Longest piece of an answer in which it can be said, in code points; 0 (default): as `output` says. */
  maxSegmentChars?: number;
  /** What those pieces should look like. */
  output?: OutputProfile;
  /** Whether what the session is given stays on the server's machine; questions fail with NOT_LOCAL where they cannot be
   * answered so. */
  localOnly?: boolean;
  /** `Session.state` of an earlier session, whose dialogue goes on here; `news` says whether it could. */
  state?: Uint8Array;
  /** What makes pictures smaller and cuts parts out of them. Default: the browser's canvas; under Node, nothing does. */
  pictures?: PictureCodec;
}

/** The times of a session, in milliseconds. @throws InvalidRequest one of them cannot be waited for */
export function timesOf({ connectTimeoutMs = 5000, patienceMs = 120_000 }: SessionOptions): Required<
  Pick<SessionOptions, "connectTimeoutMs" | "patienceMs">
> {
  if (!(connectTimeoutMs > 0 && connectTimeoutMs < MOST)) {
    throw invalid("connectTimeoutMs", `${connectTimeoutMs} is not above 0 and below ${MOST} ms`); // of a timer
  }
  if (!(patienceMs >= 0)) throw invalid("patienceMs", `${patienceMs} is not 0 ms or more`);
  return { connectTimeoutMs, patienceMs };
}

/** A profile as the protocol has it. @throws InvalidRequest a number is below 0 or none, or a word is not known */
export function outputOf(options: SessionOptions): MessageInitShape<typeof OutputProfileSchema> {
  const { leadInAfterMs = 0, leadIn = "", markup, speech, aloud = false, ...given } = options.output ?? {};
  const numbers = { ...given, ...(options.maxSegmentChars && { maxSegmentChars: options.maxSegmentChars }) };
  for (const [name, value] of Object.entries({ ...numbers, leadInAfterMs })) {
    if (!(value >= 0 && value < MOST)) throw invalid(`output.${name}`, `${value} is not 0 or more`);
    if (name !== "leadInAfterMs" && !Number.isInteger(value)) throw invalid(`output.${name}`, `${value} is no whole number`);
  }
  return {
    ...numbers,
    markup: word("output.markup", markup, MARKUPS) ?? OutputProfile_Markup.UNSPECIFIED,
    speech: word("output.speech", speech, SPEECHES) ?? OutputProfile_Speech.UNSPECIFIED,
    leadInAfterUs: BigInt(Math.round(leadInAfterMs * 1000)),
    leadIn,
    aloud,
  };
}

/** What a word stands for; undefined where there is none. @throws InvalidRequest it is not known */
export function word<Kind>(field: string, said: string | undefined, kinds: Record<string, Kind>): Kind | undefined {
  if (said === undefined) return undefined;
  if (!Object.hasOwn(kinds, said)) throw invalid(field, `${said} is not ${Object.keys(kinds).join(", ")}`);
  return kinds[said];
}

/** The secret and the dialogue of an earlier session; a new secret where there is none. @throws InvalidRequest it is none */
export function earlier(state: Uint8Array | undefined): { holder: Uint8Array; state: Uint8Array } {
  if (!state?.length) return { holder: crypto.getRandomValues(new Uint8Array(HOLDER_BYTES)), state: new Uint8Array() };
  if (state.length <= HOLDER_BYTES) throw invalid("state", `${state.length} bytes are no state of a session`);
  return { holder: state.slice(0, HOLDER_BYTES), state: state.slice(HOLDER_BYTES) };
}
