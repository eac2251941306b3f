// The page: a picture, a question, the answer as it comes.

import { CallError, call, login, stream } from "./connect.js";
import { listenForNotes } from "./note.js";
import { listenForPairing, redeem } from "./pairing.js";
import { base64, cameraTrouble, closeCamera, fitting, noCamera, openCamera, snapped } from "./picture.js";
import { Session } from "./session.js";
import { Turn } from "./turn.js";
import { LOOKING, byId, clear, made, reveal, showAnswer, showEvidence, showExchange, showInstead, showTimeline } from "./view.js";
import { Loudspeaker, microphoneTrouble, noMicrophone, openMicrophone } from "./voice.js";
import { policyWords } from "./words.js";

const CUT_MS = 1500;
const SLOW_MS = 400;
/** Attempts to reach the server, one after the other, after which it is said not to answer: some two seconds. */
const MOST_ATTEMPTS = 3;
const UNREACHABLE = "The server does not answer. Perhaps it was stopped, or this device has lost its network.";
/** Between two drawings of the timeline while a turn runs: they take the browser longer than the first words do the server. */
const REDRAW_MS = 150;
/** Events that change what is shown as the answer. */
const ANSWERS = ["accepted", "provisional", "withdrawn", "answerDelta", "done"];
/** @type {Record<string, string>} */
const FAULTS = {
  blur: "The picture is blurred.",
  dark: "The picture is dark.",
  tilt: "The picture is not level.",
  truncation: "The border cuts what the picture shows.",
  occlusion: "Something stands before what the picture shows.",
  noise: "The picture is grainy.",
};

const page = {
  /** @type {Session | null} where the browser can have one; else each question is a call of its own */
  link: null,
  /** @type {Blob | null} the picture that is asked about */
  picture: null,
  /** The server's name for it, once it has it. */
  held: "",
  /** What the server gave to go on from. */
  session: "",
  /** Whether anything was asked in this dialogue. */
  asked: false,
  /** @type {object | null} the picture that is being fetched or made smaller */
  choice: null,
  /** Whether the camera is being opened. */
  opening: false,
  /** Whether it was not to be opened after all. */
  unwanted: false,
  /** Attempts to open the link that failed since it was open. */
  failed: 0,
  /** Why this device could not be paired, if that was tried. */
  unpaired: "",
  /** Whether the server has said what it can do. */
  known: false,
  /** Longest side that the models make use of, in pixels. */
  side: 1024,
  /** @type {AbortController | null} of the turn that runs */
  running: null,
  /** What records a spoken question. @type {{stop: () => void} | null} */
  recording: null,
  /** Whether the microphone is being opened. */
  asking: false,
  /** The microphone that stays open. @type {{rateHz: number, pieces: AsyncGenerator<Uint8Array>, stop: () => void} | null} */
  open: null,
  /** The question that is being answered, or the last one. */
  answering: Promise.resolve(),
  /** Its words; the next one may be written meanwhile. */
  question: "",
  loudspeaker: new Loudspeaker(),
  /** Timer until a turn counts as slow. */
  slow: 0,
  /** @type {{question: string, answer: string} | null} */
  latest: null,
};

/** @param {Event} event */
async function ask(event) {
  event.preventDefault();
  const question = byId("question").value.trim();
  if (!question || page.running) return;
  page.question = question;
  await (page.answering = answered((signal) => (page.link ? asked(page.link, question, signal) : Promise.resolve(null))));
}

/**
 * Ask, and show what comes of it.
 * @param {(signal: AbortSignal) => Promise<AsyncGenerator<any> | null>} begin asks over the link; null: there is none
 */
async function answered(begin) {
  hush();
  if (page.latest) showExchange(page.latest.question, page.latest.answer);
  page.latest = null;
  page.asked = true;
  const { signal } = (page.running = new AbortController());
  const turn = new Turn();
  const began = performance.now();
  try {
    const events = await begin(signal);
    clear(); // the question is on its way first
    busy(true);
    await (events ? follow(events, turn, began) : askAlone(page.question, turn, signal, began));
    if (!turn.done) return showInstead(byId("voice-note").textContent || "Nothing was asked.");
    page.latest = { question: page.question, answer: turn.answer };
    byId("status").textContent = `Answer: ${turn.answer}`;
  } catch (error) {
    showTrouble(error, turn);
  } finally {
    busy(false);
    chooseQuestion();
    reveal();
  }
}

/** Begin to speak a question, or end it: the same button does both. */
async function speak() {
  if (page.recording) return page.recording.stop();
  const link = page.link;
  if (!link || page.asking || page.running) return;
  page.asking = true;
  hush();
  page.loudspeaker.prepare();
  let microphone;
  try {
    microphone = await openMicrophone();
  } catch (error) {
    return tellVoice(microphoneTrouble(error));
  } finally {
    page.asking = false;
  }
  page.recording = microphone;
  byId("speak").textContent = "Done";
  byId("speak").setAttribute("aria-pressed", "true");
  tellVoice("Listening. Press Done when you have asked.");
  const opened = microphone;
  await answered(async (signal) => {
    signal.addEventListener("abort", opened.stop);
    const frames = page.picture ? [{ sha256: await link.show(page.picture) }] : [];
    return link.say({ ...asking(""), frames }, opened, signal);
  });
  ended();
}

/** Open a microphone that stays open, or close it: the switch does both. */
async function keepOpen() {
  if (!byId("open").checked) return closeMicrophone();
  if (page.asking || page.recording) return void (byId("open").checked = false);
  page.asking = true;
  page.loudspeaker.prepare();
  try {
    page.open = await openMicrophone();
  } catch (error) {
    closeMicrophone();
    return tellVoice(microphoneTrouble(error));
  } finally {
    page.asking = false;
  }
  if (!byId("open").checked) return closeMicrophone(); // while the browser asked
  byId("speak").disabled = true;
  tellVoice("Listening.");
  await listenOn(page.open);
}

/** Listen until the microphone is closed, over one link after the other. @param {any} microphone */
async function listenOn(microphone) {
  let why = "The microphone is gone. Plug it in or permit it again, and open it anew.";
  try {
    // The link is another one where the dialogue begins anew, or answers begin to be read.
    for (let link = null; page.open === microphone && page.link && page.link !== link; ) {
      link = page.link;
      await link.listen(spokenRequest, microphone, hear);
    }
  } catch (/** @type {any} */ error) {
    why = `The microphone was closed: ${error?.message ?? error}`;
  }
  if (page.open !== microphone) return;
  closeMicrophone();
  tellVoice(why);
}

/** Close the microphone that stays open. */
function closeMicrophone() {
  page.open?.stop();
  page.open = null;
  byId("open").checked = false;
  byId("speak").disabled = Boolean(page.running);
  tellVoice("");
}

async function spokenRequest() {
  const frames = page.picture && page.link ? [{ sha256: await page.link.show(page.picture) }] : [];
  return { ...asking(""), frames };
}

/**
 * A question of the open microphone: the answer before goes on until its first word.
 * @param {AsyncGenerator<any>} events @param {AbortController} stop
 */
async function hear(events, stop) {
  try {
    const heard = await spokenOver(events);
    if (!heard) return;
    byId("question").value = heard.text;
    if (page.open) tellVoice(`Heard: ${heard.text}`);
    if (heard.command) return hush();
    await page.answering; // it was interrupted
    page.question = heard.text;
    page.answering = answered(async (signal) => {
      signal.addEventListener("abort", () => stop.abort());
      return events;
    });
  } catch (/** @type {any} */ error) {
    if (error?.name === "AbortError") return;
    closeMicrophone();
    tellVoice(`The microphone was closed: ${error?.message ?? error}`);
  }
}

/** What was heard in the end, while the loudspeaker gives way; null: nothing. @param {AsyncGenerator<any>} events */
async function spokenOver(events) {
  for (;;) {
    const { value: event, done } = await events.next();
    if (done) return null;
    if (event.voice?.state === "STATE_PAUSE") page.loudspeaker.pause(true);
    if (event.voice?.state === "STATE_RESUME") page.loudspeaker.pause(false);
    if (event.voice?.state === "STATE_VOICE") {
      hush();
      tellVoice("I hear you.");
    }
    if (event.heard?.final) return event.heard.text ? event.heard : null;
  }
}

/** The microphone is closed. */
function ended() {
  page.recording?.stop();
  page.recording = null;
  byId("speak").textContent = "Speak";
  byId("speak").setAttribute("aria-pressed", "false");
}

/** What was heard is the question; a command is done at once. @param {any} heard */
function takeHeard(heard) {
  byId("question").value = page.question = heard.text ?? "";
  if (!heard.final) return;
  ended();
  tellVoice(heard.text ? "" : "Nothing was heard. Press Speak and ask again.");
  if (heard.command) tellVoice(`Heard: ${heard.text}`);
}

/** Say no more of an answer. */
function hush() {
  const heard = page.loudspeaker.stop();
  if (!heard) return;
  page.link?.played(heard.askId, heard.segment);
  page.link?.hush(heard.askId);
}

/** @param {string} note */
function tellVoice(note) {
  byId("voice-note").textContent = note;
  byId("voice-note").hidden = !note;
}

/** Begin or end reading aloud; the dialogue goes on. */
function readAloud() {
  hush();
  page.loudspeaker.prepare();
  const before = page.link;
  before?.close();
  page.link = new Session(showLink, showFault, { aloud: byId("aloud").checked, after: before });
  page.link.playing = () => page.loudspeaker.playing;
  if (page.picture) page.link.show(page.picture);
}

/**
 * Have the question ready to be written over, unless the next one or something else is being written; on a phone that would bring its
 * keyboard up, over the answer.
 */
function chooseQuestion() {
  if (byId("question").value.trim() !== page.question || document.activeElement?.closest("form:not(#ask)")) return;
  if (window.matchMedia("(pointer: coarse)").matches) return byId("question").blur();
  byId("question").focus({ preventScroll: true });
  byId("question").select();
}

/** @param {Session} link @param {string} question @param {AbortSignal} signal */
async function asked(link, question, signal) {
  const frames = page.picture ? [{ sha256: await link.show(page.picture) }] : [];
  return link.ask({ ...asking(question), frames }, signal);
}

/**
 * Ask by a call of its own; once more with the picture's bytes where the server has dropped it.
 * @param {string} question @param {Turn} turn @param {AbortSignal} signal @param {number} began
 */
async function askAlone(question, turn, signal, began) {
  try {
    await follow(stream("AssistantService/Ask", await request(question), signal), turn, began);
  } catch (error) {
    const forgotten = error instanceof CallError && (error.code === "not_found" || /^session:/.test(error.message));
    if (!forgotten || !(page.held || page.session)) throw error;
    page.held = page.session = "";
    await askAlone(question, turn, signal, began);
  }
  page.held = turn.frame;
  page.session = turn.done?.session ?? "";
}

/** @param {string} question */
async function request(question) {
  const about = page.picture && !page.held ? { encoded: await base64(page.picture) } : { sha256: page.held };
  return { ...asking(question), frames: page.picture ? [about] : [], session: page.session };
}

/** @param {string} question */
function asking(question) {
  return { question, policy: byId("policy").value, explain: true };
}

/** @param {AsyncIterable<any>} events @param {Turn} turn @param {number} began when the question was asked */
async function follow(events, turn, began) {
  let waited = 0;
  let painting = 0;
  try {
    for await (const event of events) {
      if (event.heard) takeHeard(event.heard);
      if (event.voice?.state === "STATE_VOICE" && page.recording) tellVoice("I hear you. Press Done when you have asked.");
      if (event.speech && byId("aloud").checked) page.loudspeaker.play(event.speech);
      turn.take(event);
      if (turn.firstWords && !waited) waited = (performance.now() - began) * 1000;
      if (ANSWERS.some((name) => event[name])) showAnswer(turn);
      if (event.evidence) showEvidence(turn);
      if (event.step) painting ||= setTimeout(() => ((painting = 0), showTimeline(turn, waited)), REDRAW_MS);
      if (event.done) {
        showTimeline(turn, waited);
        byId("status").textContent = `Answer: ${turn.answer}`;
      }
    }
  } finally {
    clearTimeout(painting);
  }
}

/** A session of its own for each dialogue. */
function connect() {
  page.link?.close();
  page.asked = false;
  page.link = Session.possible() ? new Session(showLink, showFault, { aloud: byId("aloud").checked }) : null;
  if (page.link) page.link.playing = () => page.loudspeaker.playing;
  if (page.picture) page.link?.show(page.picture);
}

/** The server asks for a token. @param {string} told why */
function askToken(told) {
  const why = page.unpaired || (login.token ? told.replace(/;.*/, "") : "This server asks for a token.");
  const clear = "This page is not encrypted, so that a token would be read by others: open it over https://.";
  byId("login-why").textContent = login.possible ? why : clear;
  byId("token-line").hidden = !login.possible;
  tellTrouble("", "");
  byId("link").textContent = "";
  if (!byId("login").hidden) return;
  byId("login").hidden = false;
  byId("token").focus();
}

/** @param {Event} event */
function logIn(event) {
  event.preventDefault();
  page.unpaired = "";
  login.token = byId("token").value.trim();
  byId("token").value = "";
  byId("login").hidden = true;
  page.failed = 0;
  page.link?.hurry();
  loadCapabilities().catch(() => {}); // it is asked for again, or the link says what is wrong
}

/** Forget the login, and all that the page shows. */
function logOut() {
  leave();
  login.end();
  location.reload();
}

/** End the session, and let the microphone go. */
function leave() {
  closeMicrophone();
  page.recording?.stop();
  page.link?.close();
}

/** @param {boolean} open @param {boolean} resumed @param {string} why it is not @param {boolean} [refused] whether that stays so */
function showLink(open, resumed, why, refused = false) {
  if (open) byId("login").hidden = true;
  else if (!byId("login").hidden) return;
  page.failed = open ? 0 : page.failed + 1;
  const lost = `The connection is lost and is being made again. ${why}`;
  byId("link").textContent = open ? (resumed ? "Connected again; the answer goes on where it was." : "") : lost;
  if (open) {
    byId("speak").hidden = !page.link?.hears || Boolean(noMicrophone());
    byId("open-line").hidden = byId("speak").hidden;
    byId("aloud-line").hidden = !page.link?.speaks;
  }
  if (open && !page.known) loadCapabilities().catch(() => {}); // the link says what is wrong
  if (open && byId("error").dataset.of === "link") tellTrouble("", "");
  const waits = page.running && byId("answer").classList.contains("empty");
  if (waits) showInstead(page.failed < MOST_ATTEMPTS ? LOOKING : "Waiting for the server …");
  if (!refused && page.failed < MOST_ATTEMPTS) return;
  byId("link").textContent = "";
  if (refused) return tellTrouble(sentence(why), "link");
  tellTrouble(`${UNREACHABLE} It is tried again all the time${page.running ? "; your question is kept" : ""}. ${why}`, "link");
}

/** What went wrong; nothing where it is empty. @param {string} what @param {string} of "link" or "question" */
function tellTrouble(what, of) {
  const before = byId("error").hidden;
  byId("trouble").textContent = what;
  byId("error").dataset.of = of;
  byId("error").hidden = !what;
  byId("retry").textContent = of === "link" ? "Try now" : "Ask again";
  if (what && before) reveal();
}

function retry() {
  if (byId("error").dataset.of === "link") page.link?.hurry();
  else byId("ask").requestSubmit();
}

/** What is wrong with the picture as it was taken; nothing where the fault is "". @param {string} fault @param {string} advice */
function showFault(fault, advice) {
  const told = FAULTS[fault] ?? (fault && `The picture has a fault: ${fault}.`);
  byId("fault").textContent = told && advice ? `${told} Try again: ${advice}.` : told;
}

/** @param {any} error @param {Turn} turn */
function showTrouble(error, turn) {
  const stopped = error?.name === "AbortError";
  if (!turn.answer) showInstead(stopped ? "Stopped." : "There is no answer.");
  if (stopped) return;
  // Browsers say no more than "Failed to fetch" where nothing answers.
  const told = error instanceof CallError ? error.message : error instanceof TypeError ? UNREACHABLE : String(error);
  tellTrouble(sentence(told), "question");
}

/** What the server says of a failure, without the field that it is about. @param {string} told */
function sentence(told) {
  const said = told.replace(/^[\w.[\]]+: /, "");
  return said.charAt(0).toUpperCase() + said.slice(1);
}

/** @param {boolean} now */
function busy(now) {
  byId("ask").classList.toggle("busy", now);
  byId("ask").classList.remove("slow");
  clearTimeout(page.slow);
  // What blinks is drawn anew all the time, by cores that the answer needs: only where there is something to wait for.
  if (now) page.slow = setTimeout(() => byId("ask").classList.add("slow"), SLOW_MS);
  byId("send").hidden = now;
  byId("stop").hidden = !now;
  byId("speak").disabled = Boolean(page.open) || (now && !page.recording);
  byId("cut").hidden = !now || !page.link;
  if (now) {
    byId("link").textContent = "";
    showInstead(LOOKING);
    reveal();
  }
  byId("status").textContent = now ? "Looking for the answer" : byId("status").textContent;
  if (!now) page.running = null;
}

/** @param {Blob | null} picture @param {string} name for those who do not see it */
function take(picture, name) {
  page.picture = picture;
  page.choice = null;
  page.held = "";
  showFault("", "");
  if (picture) page.link?.show(picture);
  stopCamera();
  const shown = byId("picture");
  URL.revokeObjectURL(shown.src);
  if (picture) shown.src = URL.createObjectURL(picture);
  shown.alt = name;
  byId("remove").hidden = !picture;
}

/**
 * Take a picture once it is there, unless another one was chosen meanwhile.
 * @param {Blob | Promise<Blob>} coming @param {string} name @param {string[]} questions to try
 */
async function choose(coming, name, questions) {
  const choice = (page.choice = {});
  try {
    const picture = await fitting(await coming, page.side);
    if (page.choice !== choice) return;
    fresh();
    take(picture, name);
    suggest(questions);
  } catch (error) {
    if (page.choice === choice) say(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} note */
function say(note) {
  byId("camera-note").textContent = note;
  byId("camera-note").hidden = !note;
}

async function startCamera() {
  const video = byId("video");
  if (page.opening) return;
  page.opening = true;
  page.unwanted = false;
  try {
    await openCamera(video);
  } catch (error) {
    closeCamera(video);
    if (!page.unwanted) say(cameraTrouble(error));
    return;
  } finally {
    page.opening = false;
  }
  if (page.unwanted) return closeCamera(video);
  say("");
  for (const id of ["video", "snap"]) byId(id).hidden = false;
  for (const id of ["camera", "picture", "nothing"]) byId(id).hidden = true;
  byId("snap").focus();
}

function stopCamera() {
  closeCamera(byId("video"));
  for (const id of ["video", "snap"]) byId(id).hidden = true;
  byId("camera").hidden = Boolean(noCamera());
  byId("picture").hidden = !page.picture;
  byId("nothing").hidden = Boolean(page.picture);
}

async function snap() {
  const picture = await snapped(byId("video"), page.side);
  unchoose();
  fresh();
  take(picture, "Your picture from the camera");
  byId("question").focus();
}

/** Forget what was said before, and end what runs. */
function fresh() {
  if (page.asked) connect();
  page.running?.abort();
  page.session = "";
  page.latest = null;
  byId("dialogue").replaceChildren();
}

function unchoose() {
  for (const radio of document.querySelectorAll("#samples input")) /** @type {HTMLInputElement} */ (radio).checked = false;
  suggest([]);
}

/** @param {string[]} questions */
function suggest(questions) {
  byId("suggestions").replaceChildren(
    ...questions.map((question) => {
      const button = made("button", "", question);
      button.setAttribute("type", "button");
      button.addEventListener("click", () => {
        byId("question").value = question;
        byId("ask").requestSubmit();
      });
      return button;
    }),
  );
}

async function loadSamples() {
  const { samples } = await (await fetch("/samples/samples.json")).json();
  byId("samples-box").hidden = !samples.length;
  byId("samples").replaceChildren(
    ...samples.map((/** @type {{file: string, alt: string, questions: string[]}} */ sample) => {
      const radio = document.createElement("input");
      radio.type = "radio";
      radio.name = "sample";
      radio.addEventListener("change", () => {
        choose(fetch(`/samples/${sample.file}`).then((response) => response.blob()), sample.alt, sample.questions);
      });
      const image = document.createElement("img");
      image.src = `/samples/${sample.file}`;
      image.alt = sample.alt;
      return made("label", "", radio, image);
    }),
  );
}

async function loadCapabilities() {
  const can = await call("AssistantService/GetCapabilities", {});
  page.side = can.usefulPictureSide ?? page.side;
  page.known = true;
  byId("log-out").hidden = !login.token;
  byId("pair-box").hidden = !(can.may ?? []).includes("operate");
  const notes = Number(can.entries ?? 0);
  byId("about").textContent = notes
    ? `Answers come from your picture and ${notes.toLocaleString("en")} ${notes === 1 ? "note" : "notes"}.`
    : "There are no notes yet: answers come from your picture alone.";
  const chosen = byId("policy").value;
  for (const [place, name] of (can.policies ?? []).entries()) {
    const option = made("option", "", place ? policyWords(name) : `${policyWords(name)} (the server’s choice)`);
    option.setAttribute("value", place ? name : "");
    if (place) byId("policy").append(option);
    else byId("policy").replaceChildren(option);
  }
  byId("policy").value = chosen;
}

function listen() {
  byId("ask").addEventListener("submit", ask);
  byId("login").addEventListener("submit", logIn);
  byId("log-out").addEventListener("click", logOut);
  window.addEventListener("hashchange", () => new URLSearchParams(location.hash.slice(1)).has("code") && location.reload());
  byId("stop").addEventListener("click", () => page.running?.abort());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    page.running?.abort();
    hush();
    if (page.opening) page.unwanted = true;
    else if (byId("video").hidden) return;
    stopCamera();
    byId("camera").focus();
  });
  byId("retry").addEventListener("click", retry);
  byId("speak").addEventListener("click", speak);
  byId("open").addEventListener("change", keepOpen);
  byId("aloud").addEventListener("change", readAloud);
  byId("cut").addEventListener("click", () => page.link?.cut(CUT_MS));
  window.addEventListener("pagehide", leave);
  window.addEventListener("pageshow", (event) => event.persisted && connect());
  byId("camera").addEventListener("click", startCamera);
  byId("snap").addEventListener("click", snap);
  byId("fresh").addEventListener("click", () => {
    fresh();
    clear();
  });
  byId("remove").addEventListener("click", () => {
    take(null, "");
    unchoose();
    fresh();
  });
  byId("file").addEventListener("change", (/** @type {any} */ event) => {
    const file = event.target.files[0];
    event.target.value = ""; // else the same file, chosen once more, would be no change
    if (file) chosen(file);
  });
  const stage = byId("stage");
  for (const kind of ["dragover", "dragleave", "drop"])
    stage.addEventListener(kind, (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      stage.classList.toggle("over", kind === "dragover");
      const file = kind === "drop" && event.dataTransfer?.files[0];
      if (file) chosen(file);
    });
  document.addEventListener("paste", (event) => {
    const file = event.clipboardData?.files[0];
    if (file) chosen(file);
  });
}

/** @param {File} file */
function chosen(file) {
  say("");
  unchoose();
  choose(file, `Your file ${file.name}`, []);
}

page.unpaired = await redeem();
login.wanted = askToken;
listen();
listenForPairing();
listenForNotes(
  () => page.picture,
  () => loadCapabilities().catch(() => {}), // the link says what is wrong
);
connect();
if (noCamera()) {
  byId("camera").hidden = true;
  say(noCamera());
}
for (const load of [loadCapabilities, loadSamples])
  load().catch(() => byId("login").hidden && say("The server does not answer. Load the page again once it does."));
