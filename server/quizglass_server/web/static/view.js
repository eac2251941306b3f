// Shows a turn. Everything that comes from the server is set as text, never as markup.

import { call } from "./connect.js";
import { cited, duration, word } from "./turn.js";
import { eventWords, halfWords, handedWords, originWords, stepWords, verdictWords } from "./words.js";

/** @typedef {import("./turn.js").Turn} Turn */

/** Stands in the place of an answer until it begins. */
export const LOOKING = "Looking for the answer …";

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/**
 * An element with a class and content.
 * @param {string} tag @param {string} kind @param {...(Node | string)} content
 */
export function made(tag, kind, ...content) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  element.append(...content);
  return element;
}

/** The answer so far. @param {Turn} turn */
export function showAnswer(turn) {
  const answer = byId("answer");
  if (!turn.done && !turn.answer && !turn.draft) return showInstead(LOOKING);
  answer.classList.remove("empty");
  if (turn.done) {
    answer.replaceChildren(...cited(turn.answer, turn.done.citations ?? []).flatMap(piece));
    showVerdict(turn);
  } else if (turn.answer) {
    answer.textContent = turn.answer;
  } else {
    answer.replaceChildren(made("span", "draft", turn.draft));
  }
}

/** @param {{text: string, ids: string[]}} part @returns {(Node | string)[]} */
function piece({ text, ids }) {
  if (!ids.length) return [text];
  const links = ids.map((id) => {
    const link = made("a", "", id);
    link.setAttribute("href", `#evidence-${id}`);
    link.setAttribute("aria-label", `evidence ${id}`);
    return link;
  });
  return [made("mark", "", text), made("sup", "", ...links)];
}

/** What stands in the place of an answer, while there is none. @param {string} text */
export function showInstead(text) {
  byId("answer").textContent = text;
  byId("answer").classList.add("empty");
}

/** Have all of the answer in view, or its beginning. */
export function reveal() {
  const { top, bottom } = byId("outcome").getBoundingClientRect();
  if (top >= 0 && bottom <= window.innerHeight) return;
  byId("outcome").scrollIntoView({ block: bottom - top > window.innerHeight ? "start" : "nearest" });
}

/** What the answer is worth, in words and in how it looks. @param {Turn} turn */
function showVerdict(turn) {
  const why = word(turn.done.abstainReason, "ABSTAIN_REASON_").replace("unspecified", "");
  const whole = verdictWords(turn.verdict, turn.kind, why, turn.printed);
  const [told, more] = turn.unanswered && !why ? halfWords(turn.unanswered) : whole;
  const others = turn.disputed ? ` Your notes disagree. Others say: ${turn.disputed}.` : "";
  const verdict = byId("verdict");
  verdict.replaceChildren(made("b", "", told), ` ${more}${others}`);
  verdict.hidden = !told;
  byId("outcome").dataset.kind = why ? "abstained" : turn.disputed ? "disputed" : turn.verdict;
}

/** Cards for evidence: what the model was shown, and apart from it what was only found. @param {Turn} turn */
export function showEvidence(turn) {
  byId("no-evidence").hidden = turn.evidence.size > 0;
  for (const item of turn.evidence.values()) {
    const before = byId(`evidence-${item.id}`);
    if (before && before.classList.contains("used") === Boolean(item.used)) continue;
    before?.remove();
    byId(item.used ? "evidence" : "others").append(evidenceCard(item));
  }
  const others = byId("others").children.length;
  byId("others-box").hidden = !others;
  byId("others-title").textContent = `${others} more ${others === 1 ? "was" : "were"} found and not used`;
}

/** @param {any} item */
function evidenceCard(item) {
  const card = made("li", item.used ? "card used" : "card");
  card.id = `evidence-${item.id}`;
  const origin = String(item.origin ?? "").replace("ORIGIN_", "");
  const score = item.rerankScore ? `, ${Math.round(item.rerankScore * 100)} % likely to help` : "";
  const tag = made("p", "tag", made("b", "", item.id), ` ${originWords(origin)}${score}`);
  card.append(made("h3", "", item.title || "Words in the picture"), made("p", "passage", item.text ?? ""), tag);
  if (item.pictureSha256) showPicture(card, item);
  return card;
}

/** @param {HTMLElement} card @param {any} item */
async function showPicture(card, item) {
  const picture = await call("KnowledgeService/GetPicture", { sha256: item.pictureSha256 }).catch(() => null);
  if (!picture?.encoded) return; // the store keeps none, or no longer
  const image = document.createElement("img");
  image.alt = `Picture of ${item.title}`;
  image.src = `data:${pictureType(picture.encoded)};base64,${picture.encoded}`;
  card.prepend(image);
}

/** By its first bytes, in base64. @param {string} encoded */
function pictureType(encoded) {
  if (encoded.startsWith("iVBOR")) return "image/png";
  return encoded.startsWith("UklGR") ? "image/webp" : "image/jpeg";
}

/** Bars for steps, marks for moments. @param {Turn} turn @param {number} waited microseconds until the first words, here */
export function showTimeline(turn, waited) {
  const done = turn.done;
  const total = Math.max(Number(done?.totalUs ?? 0), ...turn.steps.map((s) => s.started + s.duration), ...turn.moments.map((m) => m.at), 1);
  const from = Math.min(0, ...turn.steps.map((s) => s.started));
  const bars = [...turn.steps].sort((one, other) => one.started - other.started).map((s) => stepBar(s, from, total));
  if (turn.firstWords) bars.push(wordsBar(turn.firstWords, from, total));
  byId("legend").hidden = !bars.length;
  byId("timeline").replaceChildren(...bars);
  const here = waited ? `The first words were here after ${duration(waited)}. ` : "";
  if (done) byId("times").textContent = `${here}The server took ${duration(Number(done.totalUs ?? 0))} in all.`;
  const handed = (done?.ledger ?? []).map((/** @type {any} */ entry) => made("li", "", handedWords(entry)));
  byId("handed").replaceChildren(...handed);
  byId("handed-box").hidden = !handed.length;
  byId("events").replaceChildren(...turn.moments.map((m) => made("li", "", made("time", "", duration(m.at)), ` ${eventWords(m.name)}: ${m.told}`)));
  byId("events-box").hidden = !turn.moments.length;
}

/** @param {import("./turn.js").Step} step @param {number} from @param {number} total */
function stepBar(step, from, total) {
  const [line, track] = bar(step.round ? `${stepWords(step.name)} (round ${step.round})` : stepWords(step.name), duration(step.duration));
  if (step.reason) {
    line.classList.add("skipped");
    line.title = `left out or cut off: ${step.reason}`;
  }
  const span = made("span", "span");
  place(span, step.started, step.duration, from, total);
  track.append(span);
  if (step.engine) {
    const engine = made("span", "engine");
    place(engine, step.started, step.engine, from, total);
    track.append(engine);
  }
  return line;
}

/** @param {number} at @param {number} from @param {number} total */
function wordsBar(at, from, total) {
  const [line, track] = bar("first words", duration(at));
  const mark = made("span", "mark");
  mark.style.setProperty("left", `${(100 * (at - from)) / (total - from)}%`);
  track.append(mark);
  return line;
}

/** @param {string} name @param {string} time @returns {[HTMLElement, HTMLElement]} */
function bar(name, time) {
  const track = made("span", "track");
  track.setAttribute("aria-hidden", "true");
  return [made("li", "", made("span", "name", name), track, made("span", "time", time)), track];
}

/** @param {HTMLElement} span @param {number} started @param {number} long @param {number} from @param {number} total */
function place(span, started, long, from, total) {
  span.style.setProperty("left", `${(100 * (started - from)) / (total - from)}%`);
  span.style.setProperty("width", `${(100 * long) / (total - from)}%`);
}

/** An answered question goes up into the dialogue. @param {string} question @param {string} answer */
export function showExchange(question, answer) {
  byId("dialogue").append(made("li", "", made("b", "", question), answer));
}

/** Nothing of a turn. */
export function clear() {
  showInstead("");
  delete byId("outcome").dataset.kind;
  for (const id of ["evidence", "others", "timeline", "events", "handed"]) byId(id).replaceChildren();
  for (const id of ["verdict", "error", "events-box", "others-box", "handed-box", "legend"]) byId(id).hidden = true;
  byId("no-evidence").hidden = false;
}
