// Plain words for what the server calls by names. A name that is not here is shown as it is, in place of nothing.

/** Sentences, the first of which stands out. @typedef {[string, string]} Told */

/** Where evidence comes from. @type {Record<string, string>} */
const ORIGINS = { IMAGE_SEARCH: "found by the picture", TEXT_SEARCH: "found by words", READ_TEXT: "read in the picture", MEMORY: "remembered" };

/** What checking an answer found. @type {Record<string, Told>} */
const VERDICTS = {
  supported: ["Confirmed by your notes.", ""],
  unsupported: ["Not confirmed by your notes.", "They were searched and do not say this, so it may be wrong."],
  unchecked: ["Not looked up.", "It comes from the picture, or from what the model knows."],
};

/** Said in place of that where all that supports an answer was read in the picture. @type {Told} */
const PRINTED = ["Read in the picture.", "No note says it."];

/** Said where an answer is to one half of a question alone. @param {string} other @returns {Told} */
export const halfWords = (other) => ["Half an answer.", `Nothing in your notes answers “${other}”`];

/** What is said of words that no check is about, by where they come from. @type {Record<string, Told>} */
const UNCHECKED = {
  guessed: ["A guess.", "It goes by the looks of the picture alone, and may be wrong."],
  fixed: ["", ""],
};

/** Why there is no answer. @type {Record<string, string>} */
const ABSTENTIONS = {
  model: "The model looked at the picture and at what was found, and does not know.",
  "no evidence": "Nothing in your notes fits this question.",
  budget: "There was not enough time to find out.",
  unsure: "An answer was written, but it is too uncertain to be shown.",
  unsupported: "An answer was written, but your notes do not say so.",
  contradicted: "An answer was written, but your notes say otherwise.",
  language: "The question is in a language that this server does not answer in.",
  incomplete: "Only a part of your question could be answered.",
};

/** How it is decided what to look up. @type {Record<string, string>} */
const POLICIES = {
  adaptive: "Look up what is missing, until it is enough",
  "planning-agent+": "Decide once, then look up",
  quote: "Quote your notes",
  "draft-first": "Try without, then look up what is missing",
  both: "Always search by picture and words",
  image: "Always search by the picture",
  text: "Always search by words",
  none: "Look nothing up",
};

/** Steps of a turn. @type {Record<string, string>} */
const STEPS = {
  decode: "open the picture",
  plan: "decide what to look up",
  decide: "decide how to go on",
  write: "write a search",
  generate: "write the answer",
  judge: "weigh the answer",
  verify: "check the answer",
  guess: "guess first",
  read: "read words in the picture",
  gate: "look for words",
  detect: "find things",
  tag: "name what is seen",
  embed: "describe the picture",
  image_search: "search by the picture",
  text_search: "search by words",
  spatial_match: "compare it with your pictures",
  entry_pictures: "compare pictures",
  picture_by_text: "search pictures",
  own_passages: "gather its notes",
  links: "follow links",
  rerank: "order what was found",
  coarse_rerank: "order it roughly",
  recall: "ask the memory",
  domain: "tell the subject",
  act: "see what is missing",
  again: "look once more",
  answer: "write the answer",
  ask: "ask itself",
  complete: "see whether it is whole",
  conclude: "conclude",
  conclude_from_reason: "conclude",
  draft: "write a draft",
  entity: "name the thing",
  grade: "grade the answer",
  next: "choose what comes next",
  object: "find what is meant",
  objects: "find what is meant",
  reason: "reason",
  reconcile: "compare with memory",
  reformulate: "put it differently",
  rewrite: "put the question clearly",
  search_router: "decide where to search",
  select: "choose what is meant",
  select_by_text: "choose what is meant",
  split: "split the question",
  subject: "find the subject",
  think: "think",
  tool_router: "decide what to look up",
  verifier: "check the answer",
  weigh: "weigh what was found",
};

/** Who is handed data. @type {Record<string, string>} */
const PARTS = {
  frames: "The server’s store of sent pictures",
  decoder: "The picture decoder",
  frame_filter: "The privacy filter",
  coach: "The check of the picture’s quality",
  wordgate: "The check for words",
  reader: "The reader of words in pictures",
  image_encoder: "The search by pictures",
  detector: "The finder of things",
  tagger: "The namer of things",
  planner: "The model that decides what to look up",
  tool_router: "The model that decides what to look up",
  text_encoder: "The search by words",
  reranker: "The ordering of results",
  coarse_reranker: "The rough ordering of results",
  generator: "The model that writes the answer",
  knowledge: "Your notes",
  memory: "The visual memory",
};

/** What stays there. @type {Record<string, string>} */
const KEPT = {
  pixels: "the picture",
  frame: "the picture",
  scores: "the result",
  words: "the words",
  vectors: "its description in numbers",
  tags: "the names",
  prompts: "the question",
  results: "the results",
  sighting: "what was seen",
};

/** Events of a turn. @type {Record<string, string>} */
const EVENTS = {
  accepted: "started",
  plan: "decided",
  decided: "decided",
  query: "searched for",
  queries: "searched for",
  evidence: "found",
  provisional: "first try",
  confirmed: "first try",
  withdrawn: "first try",
  answerDelta: "answer",
  verdict: "checked",
  done: "done",
};

/** @param {string} name */
const spaced = (name) => name.replaceAll("_", " ");

/** @param {string} name of a step */
export const stepWords = (name) => STEPS[name] ?? spaced(name);
/** @param {string} name of a kind of event */
export const eventWords = (name) => EVENTS[name] ?? spaced(name);
/** @param {string} name of an origin */
export const originWords = (name) => ORIGINS[name] ?? "found";
/** @param {string | undefined} name of a policy; older servers name none */
export const policyWords = (name = "") =>
  POLICIES[name] ?? (name.endsWith("+") ? `As published, with more: ${name.slice(0, -1)}` : `As published: ${name}`);

/**
 * What is to be said of an answer.
 * @param {string} verdict what checking it found @param {string} kind where its words come from
 * @param {string} [why] there is none; empty: there is one
 * @param {boolean} [printed] whether all that it cites was read in the picture
 * @returns {Told}
 */
export function verdictWords(verdict, kind, why = "", printed = false) {
  if (why) return ["No answer.", ABSTENTIONS[why] ?? ""];
  if (printed && verdict === "supported") return PRINTED;
  return UNCHECKED[kind] ?? VERDICTS[verdict] ?? ["", ""];
}

/** Which data a part of the server was handed, and what stays there. @param {any} entry of a turn's ledger */
export function handedWords(entry) {
  const where = entry.elsewhere ? ", on another machine," : "";
  const kept = String(entry.kept ?? "").split(", ").filter(Boolean).map((name) => KEPT[name] ?? spaced(name));
  const keeps = kept.length ? ` and keeps ${[...new Set(kept)].join(" and ")} for a while` : "";
  return `${PARTS[entry.to] ?? spaced(entry.to)}${where} got ${size(Number(entry.bytes))}${keeps}.`;
}

/** @param {number} bytes */
function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
