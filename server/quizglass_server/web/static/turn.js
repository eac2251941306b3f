// What a page knows of a turn, from the turn's events. No document is touched here.

import { policyWords, verdictWords } from "./words.js";

/**
 * @typedef {{name: string, started: number, duration: number, engine: number, reason: string, round: number}} Step
 * @typedef {{at: number, name: string, told: string}} Moment
 */

/** One turn while it comes. Times are microseconds since the server accepted it. */
export class Turn {
  constructor() {
    this.answer = "";
    /** Shown already, and perhaps taken back. */
    this.draft = "";
    /** @type {Map<string, any>} by id */
    this.evidence = new Map();
    /** @type {Step[]} */
    this.steps = [];
    /** @type {Moment[]} */
    this.moments = [];
    /** @type {any} the last event, once it has come */
    this.done = null;
    this.verdict = "";
    /** Where the words of the answer come from. */
    this.kind = "";
    /** What other sources state, with the numbers of the evidence. */
    this.disputed = "";
    /** The half of the question that the answer leaves out. */
    this.unanswered = "";
    this.frame = "";
    this.firstWords = 0;
  }

  /** Whether all that the answer cites was read in the picture. */
  get printed() {
    const cited = (this.done?.citations ?? []).map((/** @type {any} */ each) => this.evidence.get(each.evidenceId));
    return cited.length > 0 && cited.every((/** @type {any} */ item) => item?.origin === "ORIGIN_READ_TEXT");
  }

  /** Take an event. @param {any} event */
  take(event) {
    const at = Number(event.elapsedUs ?? 0);
    const [name, content] = Object.entries(event).find(([key]) => TELL[key]) ?? ["", {}];
    if (!name) return;
    if (name === "accepted") Object.assign(this, new Turn()); // where a session was lost, it begins anew
    if (name === "step") {
      this.steps.push(step(content, event.round ?? 0));
      return;
    }
    if (name === "answerDelta" && this.answer) {
      this.answer += content.text;
      return;
    }
    this.moments.push({ at, name, told: TELL[name](content) });
    this.#keep(name, content, at);
  }

  /** @param {string} name @param {any} content @param {number} at */
  #keep(name, content, at) {
    if (["answerDelta", "provisional"].includes(name) && !this.firstWords) this.firstWords = at;
    if (name === "accepted") this.frame = content.frameSha256?.[0] ?? "";
    else if (name === "evidence") for (const item of content.items ?? []) this.evidence.set(item.id, item);
    else if (name === "answerDelta") this.answer = content.text.trimStart();
    else if (name === "provisional") this.draft = content.text;
    else if (name === "withdrawn" || name === "confirmed") this.draft = name === "confirmed" ? this.draft : "";
    else if (name === "verdict") {
      this.verdict = word(content.outcome, "OUTCOME_");
      this.kind = word(content.kind, "ANSWER_KIND_");
      this.disputed = content.notes?.disputed ?? "";
      this.unanswered = content.notes?.unanswered ?? "";
    }
    else if (name === "done") {
      this.done = content;
      this.answer = content.answer ?? "";
      this.draft = "";
    }
  }
}

/** What checking an answer found that is not confirmed. @param {any} verdict */
const outcomeWords = (verdict) => verdictWords(word(verdict.outcome, "OUTCOME_"), word(verdict.kind, "ANSWER_KIND_"))[0] || "nothing to check";

/** What is looked up. @type {Record<string, string>} */
const PLANS = { none: "look nothing up", image: "search by the picture", text: "search by words", both: "search by picture and words" };

/** Each event in a line. @type {Record<string, (content: any) => string>} */
const TELL = {
  accepted: (c) => policyWords(c.policy).toLowerCase(),
  plan: (c) => PLANS[word(c.plan, "PLAN_")] ?? word(c.plan, "PLAN_"),
  decided: (c) => c.label,
  query: (c) => `“${c.text}”`,
  queries: (c) => (c.texts ?? []).map((/** @type {string} */ text) => `“${text}”`).join(", "),
  evidence: (c) => (c.items ?? []).map((/** @type {any} */ item) => item.title || item.text).join(", "),
  provisional: (c) => `“${c.text}”, not sure yet`,
  confirmed: () => "it stays",
  withdrawn: () => "it is taken back",
  answerDelta: () => "the first words",
  verdict: (c) => (word(c.outcome, "OUTCOME_") === "supported" ? "confirmed by what was found" : outcomeWords(c)),
  done: (c) => word(c.finishReason, "FINISH_REASON_"),
  step: () => "",
};

/** @param {any} content @param {number} round @returns {Step} */
function step(content, round) {
  return {
    name: content.name,
    started: Number(content.startedUs ?? 0),
    duration: Number(content.durationUs ?? 0),
    engine: Number(content.engineUs ?? 0),
    reason: content.reason ?? "",
    round,
  };
}

/**
 * A member of an enumeration in plain words: PLAN_BOTH is "both".
 * @param {string | undefined} name @param {string} prefix
 */
export function word(name, prefix) {
  return (name ?? "").replace(prefix, "").replaceAll("_", " ").toLowerCase();
}

/**
 * The answer in pieces: plain ones, and those that evidence stands behind.
 * Citations count in code points, JavaScript in halves of some of them.
 * @param {string} answer
 * @param {{evidenceId: string, start?: number, end?: number}[]} citations
 * @returns {{text: string, ids: string[]}[]}
 */
export function cited(answer, citations) {
  const points = [...answer];
  const edges = [...new Set([0, points.length, ...citations.flatMap((c) => [c.start ?? 0, c.end ?? 0])])];
  edges.sort((one, other) => one - other);
  return edges.slice(0, -1).map((from, place) => ({
    text: points.slice(from, edges[place + 1]).join(""),
    ids: citations.filter((c) => (c.start ?? 0) <= from && from < (c.end ?? 0)).map((c) => c.evidenceId),
  }));
}

/** A duration of microseconds for people. @param {number} us */
export function duration(us) {
  if (us < 10_000) return `${(us / 1000).toFixed(1)} ms`;
  return us < 1_000_000 ? `${Math.round(us / 1000)} ms` : `${(us / 1e6).toFixed(2)} s`;
}
