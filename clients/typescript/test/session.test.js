// What only this client does: errors of its own arguments, patience, closing, and what is told to a program in between.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as browser from "../dist/browser.js";
import * as node from "../dist/node.js";
import { eventually } from "./replay.js";
import { Stage } from "./stage.js";

const stage = new Stage();
after(() => stage.stop());
const WAITS = { answers: { "Count.": { words: 4, hold: 2 } } };

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
    const frame = await session.show(await stage.picture("small"), true);
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
    wrong({ budgetMs: NaN }, "budgetMs");
    wrong({}, "question", "x".repeat(300_000));
    assert.equal((await session.answer("What?")).text, "45 crowns");
    await session.close();
  });

  test(`a picture that is none is told before anybody asks, over ${name}`, async () => {
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
