// Shows a turn. Everything that comes from the server is set as text, never as markup.

import { call } from "./connect.js";
import { cited, duration, word } from "./turn.js";

/** @typedef {import("./turn.js").Turn} Turn */

const ORIGINS = { IMAGE_SEARCH: "found by the picture", TEXT_SEARCH: "found by words", READ_TEXT: "read in the picture", MEMORY: "remembered" };
const VERDICTS = {
  supported: "The evidence says so.",
  unsupported: "Evidence was looked at, and does not say so.",
  unchecked: "From the picture or the model itself; no evidence was needed.",
};
const ABSTENTIONS = {
  model: "The model does not know, having seen what there was.",
  "no evidence": "Nothing relevant enough was found.",
  budget: "The time ran out first.",
  unsure: "It wrote an answer and was not sure enough of it.",
  unsupported: "It wrote an answer that the evidence does not support.",
  contradicted: "It wrote an answer that the evidence contradicts.",
  incomplete: "It wrote an answer to a part of the question only.",
};

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
  answer.classList.remove("empty");
  if (turn.done) {
    answer.replaceChildren(...cited(turn.answer, turn.done.citations ?? []).flatMap(piece));
    showVerdict(turn);
  } else if (turn.answer || !turn.draft) {
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

/** @param {Turn} turn */
function showVerdict(turn) {
  const why = word(turn.done.abstainReason, "ABSTAIN_REASON_");
  const verdict = byId("verdict");
  const outcome = /** @type {any} */ (ABSTENTIONS)[why] ?? /** @type {any} */ (VERDICTS)[turn.verdict] ?? "";
  verdict.textContent = turn.disputed ? `${outcome} Sources disagree, others say: ${turn.disputed}.` : outcome;
  verdict.hidden = !verdict.textContent;
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
  byId("others-title").textContent = `${others} more ${others === 1 ? "was" : "were"} found and not shown to the model`;
}

/** @param {any} item */
function evidenceCard(item) {
  const card = made("li", item.used ? "card used" : "card");
  card.id = `evidence-${item.id}`;
  const origin = String(item.origin ?? "").replace("ORIGIN_", "");
  const score = item.rerankScore ? `, ${Math.round(item.rerankScore * 100)} % likely to help` : "";
  const tag = made("p", "tag", made("b", "", item.id), ` ${/** @type {any} */ (ORIGINS)[origin] ?? "found"}${score}`);
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
  const here = waited ? `first words on this page after ${duration(waited)}, ` : "";
  if (done) byId("times").textContent = `${here}${duration(Number(done.totalUs ?? 0))} on the server, ${done.promptTokens ?? 0} tokens read and ${done.answerTokens ?? 0} written for the answer.`;
  byId("handed").textContent = (done?.ledger ?? []).map(handed).join("; ");
  byId("events").replaceChildren(...turn.moments.map((m) => made("li", "", made("time", "", duration(m.at)), ` ${EVENTS[m.name] ?? m.name}: ${m.told}`)));
  byId("events-box").hidden = !turn.moments.length;
}

/** Who was handed how many bytes, and what stays there. @param {any} entry */
function handed(entry) {
  return `${entry.to} ${Number(entry.bytes).toLocaleString("en")} bytes${entry.elsewhere ? " elsewhere" : ""}${entry.kept ? `, keeps ${entry.kept}` : ""}`;
}

/** @type {Record<string, string>} */
const EVENTS = { answerDelta: "answer", query: "query", queries: "queries", provisional: "draft" };

/** @param {import("./turn.js").Step} step @param {number} from @param {number} total */
function stepBar(step, from, total) {
  const [line, track] = bar(step.round ? `${step.name} (round ${step.round})` : step.name, duration(step.duration));
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
  return [made("li", "", made("span", "name", name.replaceAll("_", " ")), track, made("span", "time", time)), track];
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
  byId("answer").textContent = "";
  for (const id of ["evidence", "others", "timeline", "events"]) byId(id).replaceChildren();
  for (const id of ["verdict", "error", "events-box", "others-box", "legend"]) byId(id).hidden = true;
  byId("no-evidence").hidden = false;
}
