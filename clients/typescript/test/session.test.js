// What only this client does: errors of its own arguments, patience, closing, and the events that a program gets.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as browser from "../dist/browser.js";
import * as node from "../dist/node.js";
import { eventually, tenths } from "./replay.js";
import { Stage } from "./stage.js";

const stage = new Stage();
after(() => stage.stop());
const PART = { left: 0.5, top: 0.5, right: 0.75, bottom: 0.75 };
const WAITS = { answers: { "Count.": { words: 4, hold: 2 } } };

test("this machine is reached without the proxy that leads to others", async () => {
  const before = process.env.http_proxy;
  process.env.http_proxy = "http://127.0.0.1:1";
  try {
    const targets = await stage.do({ begin: {} });
    const session = await node.openSession(targets.grpc);
    assert.equal((await session.answer("What?")).text, "45 crowns");
    await session.close();
  } finally {
    if (before === undefined) delete process.env.http_proxy;
    else process.env.http_proxy = before;
  }
});

test("a port that no machine has is named, and no other one is tried", async () => {
  for (const port of [0, 65536, 99999]) {
    await assert.rejects(node.openSession(`127.0.0.1:${port}`), {
      ...{ name: "InvalidRequest", field: "target" },
      message: `target: ${port} is no port; give one from 1 to 65535`,
    });
  }
});

for (const [name, { openSession }] of /** @type {const} */ ([
  ["grpc", node],
  ["http", browser],
])) {
  test(`a session is given up when patience ends, over ${name}`, async () => {
    const targets = await stage.do({ begin: WAITS });
    const session = await openSession(targets[name], { patienceMs: 300 });
    const turn = session.ask("Count.");
    await stage.do({ reached: "Count." });
    await stage.do({ refuse: true });
    await stage.do({ cut: "rst" });
    await assert.rejects(turn.answer(), { name: "ServerUnavailable", message: /^no link for 0\.3 s: / });
    assert.throws(() => session.ask("Again?"), node.ServerUnavailable);
    await session.close();
  });

  test(`a closed session ends its turns, and the server's, over ${name}`, async () => {
    const targets = await stage.do({ begin: WAITS });
    const session = await openSession(targets[name]);
    const turn = session.ask("Count.");
    await stage.do({ reached: "Count." });
    await session.close();
    await assert.rejects(turn.answer(), { name: "Cancelled", reason: "CLOSED" });
    turn.cancel();
    turn.played(0, 3);
    assert.throws(() => session.ask("Again?"), node.Cancelled);
  });

  test(`a closed session leaves no timer that keeps its program waiting, over ${name}`, async () => {
    const targets = await stage.do({ begin: {} });
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
    const before = timers();
    const session = await openSession(targets[name]);
    await session.answer("What?");
    await session.close();
    assert.equal(timers(), before);
  });

  test(`after a cut, its pictures and its dialogue are there, over ${name}`, async () => {
    const targets = await stage.do({ begin: {} });
    const session = await openSession(targets[name]);
    const frame = await session.show(await stage.picture("small"), { pinned: true });
    assert.equal((await session.answer("What is it?", { frame, budgetMs: 5000 })).text, "45 crowns");
    /** @type {string[]} */
    const news = [];
    const listening = (async () => {
      for await (const each of session.news()) news.push(each.case);
    })();
    await stage.do({ cut: "rst" });
    await eventually(() => news.includes("restored"), "a new link");
    assert.equal((await session.answer("And now?", { history: [["Since?", "Yes."]] })).text, "45 crowns");
    await session.close();
    await listening;
    assert.deepEqual(news, ["frameStatus", "frameStatus", "lost", "restored"]);
  });

  test(`what cannot be asked is named, over ${name}`, async () => {
    const targets = await stage.do({ begin: {} });
    const session = await openSession(targets[name]);
    const wrong = (/** @type {any} */ options, /** @type {string} */ field, question = "What?") =>
      assert.throws(() => session.ask(question, options), { name: "InvalidRequest", field });
    wrong({ overlap: "whatever" }, "overlap");
    wrong({ frame: new Uint8Array(3) }, "frame");
    wrong({ budgetMs: 0 }, "budgetMs");
    wrong({ maxAnswerTokens: -1 }, "maxAnswerTokens");
    wrong({ maxAnswerTokens: 1.5 }, "maxAnswerTokens");
    const tooMany = session.answer("What?", { maxAnswerTokens: 1_000_000 }); // the server has it, and is the judge of that
    await assert.rejects(tooMany, { name: "InvalidRequest", field: "ask.request.max_answer_tokens" });
    wrong({ budgetMs: NaN }, "budgetMs");
    assert.throws(() => session.ask("What?", { budgetMs: 0 }), { message: "budgetMs: 0 is not above 0 and at most 86400000 ms" });
    wrong({}, "question", "x".repeat(300_000));
    wrong({ budgetMs: "5" }, "budgetMs");
    wrong({ frame: "photo.jpg" }, "frame");
    wrong({ policy: 5 }, "policy");
    wrong({ history: "Since?" }, "history[0]");
    wrong({ history: [["Since?"]] }, "history[0]");
    wrong({}, "question", /** @type {any} */ (null));
    const path = /** @type {any} */ ("photo.jpg");
    await assert.rejects(session.show(path), { message: "picture: a string is no picture; give its encoded bytes, a Uint8Array" });
    assert.equal((await session.answer("What?")).text, "45 crowns");
    await session.close();
  });

  test(`what is said and played that cannot be sent is named, and ends nothing, over ${name}`, async () => {
    const targets = await stage.do({ begin: { hears: ["What is this?"] } });
    const session = await openSession(targets[name]);
    const refused = (/** @type {string} */ field, /** @type {() => unknown} */ call) =>
      assert.throws(call, { name: "InvalidRequest", field });
    for (const number of [0, 1.5, NaN, 2 ** 40]) {
      refused("rateHz", () => session.say([], { rateHz: number }));
      refused("channels", () => session.say([], { channels: number }));
    }
    refused("question", () => session.say([], { history: [["Since?", "x".repeat(300_000)]] }));
    await assert.rejects(session.listen([], { history: [["Since?", "x".repeat(300_000)]] }).next(), { name: "InvalidRequest", field: "question" });
    refused("frame", () => session.drop(new Uint8Array(3)));
    const turn = session.ask("What?");
    await turn.answer();
    refused("segment", () => turn.played(2 ** 40, 0));
    refused("codePoint", () => turn.played(0, 0.5));
    refused("seconds", () => turn.playing(NaN));
    const spoken = session.say(/** @type {any} */ (["no bytes"]));
    await assert.rejects(spoken.answer(), { name: "InvalidRequest", reason: "AUDIO", message: /string is no piece of sound/ });
    assert.equal((await session.answer("Still?")).text, "45 crowns");
    assert.equal(session.links, 1);
    await session.close();
  });

  test(`a picture is sent in full, or a part of it cut, when its thumbnail is too small, over ${name}`, async () => {
    const targets = await stage.do({ begin: {} });
    await stage.do({ things: [Object.values(PART)] });
    const scene = await stage.picture("scene");
    const small = await stage.codec.fit(scene, 120);
    const session = await openSession(targets[name]);
    const inFull = await session.show(small, { full: scene });
    await session.answer("Who made this?", { frame: inFull });
    session.drop(inFull);
    /** @type {node.Part[]} */
    const asked = [];
    const cut = (/** @type {node.Part} */ part) => {
      asked.push(part);
      return stage.codec.cut(scene, part.region, part.leastSide);
    };
    const cutOut = await session.show(await stage.codec.fit(scene, 100), { full: cut });
    await session.answer("Who made this?", { frame: cutOut });
    assert.deepEqual(asked, [{ region: PART, leastSide: 128 }]);
    assert.deepEqual(await stage.do({ seen: null }), [480, 480]);
    await session.close();
  });

  test(`a part that cannot be cut is reported, and the question answered without, over ${name}`, async () => {
    const targets = await stage.do({ begin: { settings: { frame_wait_s: 0.2 } } });
    await stage.do({ things: [Object.values(PART)] });
    const session = await openSession(targets[name]);
    const fails = () => Promise.reject(new Error("no memory"));
    const frame = await session.show(await stage.picture("small"), { full: fails });
    const { done } = await session.answer("Who made this?", { frame });
    assert.deepEqual(done.skipped.filter((each) => each.step === "look_closer").map((each) => each.reason), ["NO_FRAME"]);
    for await (const news of session.news()) {
      if (news.case !== "cutFailed") continue;
      assert.deepEqual([...news.frame], [...frame]);
      assert.equal(String(news.error), "Error: no memory");
      break;
    }
    await session.close();
  });

  test(`pictures are made as small as the device's posture asks for, over ${name}`, async () => {
    const targets = await stage.do({ begin: {} });
    const session = await openSession(targets[name], { pictures: stage.codec });
    const usual = session.frameSide;
    session.device({ link: "poor" });
    for await (const news of session.news()) if (news.case === "posture") break;
    assert.equal(session.frameSide, usual / 2);
    const frame = await session.show(await stage.picture("large"));
    await session.answer("What?", { frame });
    assert.deepEqual(await stage.do({ seen: null }), [Math.min(640, usual / 2)]);
    await session.close();
  });

  test(`another's dialogue is not taken up, and the reason told, over ${name}`, async () => {
    const targets = await stage.do({ begin: {} });
    const session = await openSession(targets[name]);
    assert.equal(session.state.length, 0);
    await session.answer("What?");
    const state = session.state.fill(0, 0, 32); // as it is with another secret
    await session.close();
    const other = await openSession(targets[name], { state });
    for await (const news of other.news()) {
      assert(news.case === "restored");
      assert.deepEqual([news.restored, news.reason], [node.Restored.NONE, "SESSION_FOREIGN"]);
      break;
    }
    await other.close();
  });

  test(`what cannot be is named before it is sent, over ${name}`, async () => {
    const targets = await stage.do({ begin: {} });
    const open = (/** @type {any} */ options) => openSession(targets[name], options);
    await assert.rejects(open({ state: new Uint8Array(5) }), { name: "InvalidRequest", field: "state" });
    for (const wrong of [0, -1, NaN, Infinity]) await assert.rejects(open({ connectTimeoutMs: wrong }), { field: "connectTimeoutMs" });
    for (const wrong of [-1, NaN]) await assert.rejects(open({ patienceMs: wrong }), { name: "InvalidRequest", field: "patienceMs" });
    await assert.rejects(open({ output: { maxWords: -1 } }), { field: "output.maxWords" });
    await assert.rejects(open({ output: { maxLines: 1.5 } }), { field: "output.maxLines" });
    await assert.rejects(open({ output: { speech: "latin" } }), { field: "output.speech" });
    const session = await open({});
    const device = (/** @type {any} */ is, /** @type {string} */ field) =>
      assert.throws(() => session.device(is), { name: "InvalidRequest", field });
    device({ battery: 101 }, "battery");
    device({ battery: 0.5 }, "battery");
    device({ heat: "boiling" }, "heat");
    device({ link: "toString" }, "link");
    await assert.rejects(session.show(new Uint8Array(9), { thumbnail: -1 }), { field: "thumbnail" });
    await assert.rejects(session.show(new Uint8Array(9), { thumbnail: 320 }), { field: "thumbnail" }); // no codec
    await session.close();
  });

  test(`an invalid picture is reported before a question, over ${name}`, async () => {
    const targets = await stage.do({ begin: {} });
    const session = await openSession(targets[name]);
    await session.show(await stage.picture("broken"));
    for await (const news of session.news()) {
      if (news.case !== "notice") continue;
      assert.equal(news.value.reason, "INVALID_PICTURE");
      break;
    }
    await session.close();
  });
}

test("an answer is paused when the wearer may be speaking over it, and played on when it was a noise", async () => {
  const targets = await stage.do({ begin: { answers: { "Count.": { words: 3 } }, hears: [""] } });
  const session = await node.openSession(targets.grpc, { output: { aloud: true } });
  const answered = session.ask("Count.");
  await answered.answer();
  const noise = (/** @type {number} */ loud) => {
    const samples = Int16Array.from({ length: 512 }, () => (Math.random() - 0.5) * loud);
    return new Uint8Array(samples.buffer);
  };
  let told = /** @type {(state: number) => void} */ (() => {});
  const paused = new Promise((resolve) => (told = resolve));
  async function* microphone() {
    answered.playing(0.2);
    for (let piece = 0; piece < 30; piece++) yield noise(2);
    for (let piece = 0; piece < 4; piece++) yield noise(20_000);
    await paused;
    answered.playing(0.2 + 34 * 0.032, true);
    for (let piece = 0; piece < 40; piece++) yield noise(2);
  }
  const states = [];
  for await (const said of session.say(microphone(), { endsBySilence: true, pauses: true })) {
    if (said.case !== "speechStatus") continue;
    states.push(said.value.state);
    if (said.value.state === 4) told(4);
  }
  assert.deepEqual(states, [1, 4, 5, 3]);
  await session.close();
});

test("a microphone that stays open is let go when its turns are read no more, or when it fails", async () => {
  const targets = await stage.do({ begin: { hears: ["What is this?", "And this?"] } });
  const session = await node.openSession(targets.grpc);
  let left = false;
  async function* microphone() {
    try {
      for (let round = 0; round < 2; round++) yield* tenths([[220, 1], [0, 1]]);
      for (;;) {
        yield* tenths([[0, 0.1]]);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    } finally {
      left = true;
    }
  }
  const heard = [];
  for await (const turn of session.listen(microphone(), { overlap: "queue" })) {
    heard.push((await turn.transcript()).text);
    if (heard.length === 2) break;
  }
  assert.deepEqual(heard, ["What is this?", "And this?"]);
  await eventually(() => left, "the microphone is let go");
  async function* broken() {
    yield* tenths([[220, 0.5]]);
    throw new Error("unplugged");
  }
  for await (const turn of session.listen(broken())) {
    await assert.rejects(turn.transcript(), { reason: "AUDIO" });
    assert.equal(turn.failed, true);
  }
  await session.close();
  await assert.rejects(session.listen(broken()).next(), { name: "Cancelled" });
});

test("a microphone that fails behind a question leaves that one its answer", async () => {
  const targets = await stage.do({ begin: { hears: ["What is this?"] } });
  const session = await node.openSession(targets.grpc);
  let unplug = () => {};
  const unplugged = new Promise((resolve) => (unplug = () => resolve(undefined)));
  async function* broken() {
    yield* tenths([[220, 1], [0, 1]]);
    await unplugged;
    throw new Error("unplugged");
  }
  const outcomes = [];
  for await (const turn of session.listen(broken())) {
    const heard = await turn.transcript().catch((error) => error.reason);
    unplug();
    outcomes.push(heard.text ? (await turn.answer()).text : heard);
  }
  assert.deepEqual(outcomes, ["45 crowns", "AUDIO"]);
  await session.close();
});
