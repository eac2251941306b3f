// The page as people meet it: in a real Chromium, before a real port.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { browser, server, silenceable } from "./server.mjs";

const CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];
const SOUND = join(mkdtempSync(join(tmpdir(), "quizglass-")), "spoken.wav");
const MOST_BYTES = 300 * 1024;

let served, chrome, page, trouble;

before(async () => {
  served = await server();
  writeFileSync(SOUND, tone(2));
  chrome = await browser(...CAMERA, `--use-file-for-fake-audio-capture=${SOUND}`);
});
after(async () => {
  await chrome?.close();
  await served?.stop();
});
beforeEach(async () => {
  trouble = [];
  page = await opened({});
});
afterEach(async () => {
  await page.context().close();
  assert.deepEqual(trouble, []);
});

/** The page in a context of its own, whose errors are collected. */
async function opened(options, url = served.url, where = chrome) {
  const context = await where.newContext(options);
  const fresh = await context.newPage();
  fresh.on("console", (message) => ["error", "warning"].includes(message.type()) && trouble.push(message.text()));
  fresh.on("pageerror", (error) => trouble.push(error.message));
  await fresh.goto(url);
  await fresh.waitForSelector("#samples img");
  return fresh;
}

/** A WAV file that the microphone of the tests hears, over and over: a tone, and silence behind it. */
function tone(seconds, silence = 0) {
  const loud = (at) => (at < seconds * 48_000 ? 12_000 : 0);
  const samples = Int16Array.from(
    { length: (seconds + silence) * 48_000 },
    (_, at) => loud(at) * Math.sin((2 * Math.PI * 300 * at) / 48_000),
  );
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples.byteLength, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(48_000, 24);
  head.writeUInt32LE(96_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer)]);
}

async function ask(question) {
  await page.fill("#question", question);
  await page.click("#send");
}

/** The answer, once there is one. */
async function answer() {
  await page.waitForSelector("#ask:not(.busy)");
  return page.innerText("#answer");
}

async function box(selector) {
  return page.locator(selector).boundingBox();
}

describe("a question", () => {
  test("about a picture of the page is answered, with evidence, its picture, and a timeline", async () => {
    await page.locator("#samples input").first().check({ force: true });
    await page.locator("#suggestions button").first().click();
    assert.match(await answer(), /^45 crowns\s*1$/);
    assert.equal((await served.next()).width, 448);
    assert.match(await page.innerText("#verdict"), /Confirmed by your notes\.$/);
    const card = page.locator("#evidence .card");
    assert.equal(await card.count(), 1);
    assert.equal(await card.locator("h3").innerText(), "Velmora");
    await page.waitForFunction(() => document.querySelector("#evidence img")?.naturalWidth === 64);
    await page.click("#others-box summary");
    assert.equal(await page.innerText("#others h3"), "Other <b>thing</b>");
    assert.equal(await page.locator("#answer sup a").getAttribute("href"), "#evidence-1");
    const names = await page.locator("#timeline .name").allInnerTexts();
    assert.deepEqual(names, ["open the picture", "decide what to look up", "first words"]);
    await page.click("#handed-box summary");
    assert.match(await page.innerText("#handed"), /The picture decoder got \d+ kB and keeps the picture for a while\./);
    await page.click("#events-box summary");
    const events = await page.locator("#events li").allInnerTexts();
    assert.deepEqual(events.map((line) => line.replace(/^[\d.]+ m?s /, "").split(":")[0]), ["started", "decided", "found", "answer", "checked", "done"]);
    assert.match(await page.innerText("#status"), /^Answer: 45 crowns$/);
  });

  test("without a picture is answered too, and by the policy that was chosen", async () => {
    await page.click(".options summary");
    await page.selectOption("#policy", "both");
    await ask("what is it?");
    await answer();
    assert.deepEqual(await served.next(), { turn: "what is it?", policy: "both", width: 0, history: 0 });
  });

  test("is asked at once: its picture was read and hashed when it was chosen", async () => {
    await page.evaluate(() => {
      const digest = crypto.subtle.digest.bind(crypto.subtle);
      globalThis.digests = 0;
      crypto.subtle.digest = (...about) => ((globalThis.digests += 1), digest(...about));
    });
    await page.locator("#samples input").first().check({ force: true });
    for (const question of ["the first one", "the second one"]) {
      await ask(question);
      await answer();
      await served.next();
    }
    assert.equal(await page.evaluate(() => globalThis.digests), 1);
  });

  test("that follows another one sends no picture again, and shows what was said", async () => {
    await page.locator("#samples input").first().check({ force: true });
    const sizes = [];
    let sent = 0;
    page.on("request", (request) => (sent += request.postDataBuffer()?.length ?? 0));
    for (const question of ["the first one", "the second one"]) {
      await ask(question);
      await answer();
      assert.equal((await served.next()).width, 448);
      sizes.push(sent);
      sent = 0;
    }
    assert.ok(sizes[1] < 1500, `${sizes} bytes`);
    assert.match(await page.innerText("#dialogue"), /the first one\s+45 crowns/);
  });

  test("that cannot be answered says why", async () => {
    await ask("unknown to all");
    assert.equal(await answer(), "I don't know");
    assert.equal(await page.innerText("#verdict"), "No answer. Nothing in your notes fits this question.");
    await served.next();
  });

  test("that is a guess says so, and small talk is not checked", async () => {
    for (const [question, told] of [["guess what", /^A guess\. .*may be wrong/], ["thanks", /^$/]]) {
      await ask(question);
      await answer();
      await served.next();
      const shown = await page.locator("#verdict").isVisible();
      assert.match(shown ? await page.innerText("#verdict") : "", told);
    }
  });

  test("whose answer is words in the picture does not claim a note", async () => {
    await ask("printed there?");
    await answer();
    await served.next();
    assert.equal(await page.innerText("#verdict"), "Read in the picture. No note says it.");
    await page.click("#events-box summary");
    assert.doesNotMatch(await page.innerText("#events"), /your notes/);
    await ask("what is it?");
    await answer();
    await served.next();
    assert.match(await page.innerText("#verdict"), /^Confirmed by your notes\./);
  });

  test("to half a question says which half it leaves out", async () => {
    await ask("half please");
    await answer();
    await served.next();
    assert.equal(await page.innerText("#verdict"), "Half an answer. Nothing in your notes answers “When was he born?”");
  });

  test("that nothing confirms looks unlike one that is confirmed", async () => {
    const looks = {};
    for (const question of ["unsupported please", "what is it?"]) {
      await ask(question);
      await answer();
      await served.next();
      looks[question] = await page.evaluate(() =>
        ["#answer", "#verdict"].map((place) => {
          const { fontSize, fontStyle, borderTopStyle, backgroundColor } = getComputedStyle(document.querySelector(place));
          return { fontSize: parseFloat(fontSize), fontStyle, borderTopStyle, backgroundColor };
        }),
      );
      if (question.startsWith("un")) assert.match(await page.innerText("#verdict"), /Not confirmed by your notes\. .*may be wrong/);
    }
    const [[doubted, warning], [sure, confirmation]] = Object.values(looks);
    assert.notDeepEqual([doubted.fontStyle, doubted.borderTopStyle], [sure.fontStyle, sure.borderTopStyle]);
    assert.notEqual(warning.backgroundColor, confirmation.backgroundColor);
    assert.ok(warning.fontSize >= 16, `${warning.fontSize} pixels`);
  });

  test("whose first answer is taken back ends with the second one", async () => {
    await ask("draft it");
    assert.equal(await answer(), "a second one");
    await served.next();
  });

  test("that fails says so, and the next one is answered", async () => {
    await ask("fail please");
    await answer();
    assert.match(await page.innerText("#error"), /8 turns are running/);
    await served.next();
    await ask("and now?");
    assert.match(await answer(), /45 crowns/);
    assert.equal(await page.isVisible("#error"), false);
    await served.next();
  });
});

describe("what is written while an answer comes", () => {
  /** Begin to write elsewhere while a question is answered; the answer comes then. */
  async function writing(place, text) {
    await ask("hold on");
    await page.waitForFunction(() => document.querySelector("#answer")?.textContent === "first,");
    if (place === "#note-title") await page.click("#note-box summary");
    await page.fill(place, "");
    await page.locator(place).pressSequentially(text);
    const other = await opened({});
    await other.fill("#question", "release it");
    await other.click("#send");
    await other.waitForSelector("#verdict:not([hidden])");
    assert.equal(await answer(), "first, then second");
    await other.context().close();
    assert.deepEqual([(await served.next()).turn, (await served.next()).turn], ["hold on", "release it"]);
  }

  test("is the next question, and not taken for the one before", async () => {
    await writing("#question", "and");
    await page.keyboard.type(" then?");
    assert.equal(await page.inputValue("#question"), "and then?");
    await page.keyboard.press("Enter");
    assert.match(await answer(), /45 crowns/);
    assert.equal((await served.next()).turn, "and then?");
    assert.match(await page.innerText("#dialogue"), /^hold on\s+first, then second$/);
  });

  test("is a note, and goes on as one", async () => {
    await writing("#note-title", "Gerda's");
    await page.keyboard.type(" aloe");
    assert.deepEqual([await page.inputValue("#note-title"), await page.inputValue("#question")], ["Gerda's aloe", "hold on"]);
  });
});

describe("pictures that are chosen one after the other", () => {
  test("are asked about as they were chosen, however long they take", async () => {
    let release;
    const slow = new Promise((resolve) => (release = resolve));
    await page.route("**/samples/1.png", (route) => slow.then(() => route.continue()));
    await page.evaluate(() => {
      const made = window.createImageBitmap;
      window.made = 0;
      window.createImageBitmap = (blob) => made(blob).finally(() => (window.made += 1));
    });
    await page.locator("#samples input").nth(0).check({ force: true });
    await page.locator("#samples input").nth(1).check({ force: true });
    await page.waitForSelector("#picture:not([hidden])");
    release();
    await page.waitForFunction(() => window.made === 2);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const second = (await (await fetch(`${served.url}/samples/samples.json`)).json()).samples[1];
    assert.equal(await page.getAttribute("#picture", "alt"), second.alt);
    assert.equal(await page.innerText("#suggestions"), second.questions[0]);
  });
});

describe("ending early", () => {
  test("by Escape stops the turn on the server", async () => {
    await ask("wait for it");
    await page.waitForFunction(() => document.querySelector("#answer")?.textContent === "so far");
    await page.keyboard.press("Escape");
    await answer();
    assert.equal((await served.next()).turn, "wait for it");
    assert.deepEqual(await served.next(), { cancelled: "wait for it" });
  });

  test("by closing the tab stops it too", async () => {
    const other = await opened({});
    await other.fill("#question", "wait here");
    await other.click("#send");
    assert.equal((await served.next()).turn, "wait here");
    await other.close({ runBeforeUnload: true });
    assert.deepEqual(await served.next(), { cancelled: "wait here" });
    await other.context().close();
  });
});

describe("a new dialogue", () => {
  test("ends the running answer and forgets the dialogue", async () => {
    await ask("what is it?");
    await answer();
    await ask("wait for it");
    await page.waitForFunction(() => document.querySelector("#answer")?.textContent === "so far");
    await page.click(".options summary");
    await page.click("#fresh");
    await answer();
    assert.deepEqual([(await served.next()).turn, (await served.next()).turn], ["what is it?", "wait for it"]);
    assert.deepEqual(await served.next(), { cancelled: "wait for it" });
    await ask("and now?");
    await answer();
    assert.deepEqual(await served.next(), { turn: "and now?", policy: "planning-agent+", width: 0, history: 0 });
  });

  test("begins with another picture, also after a question that failed", async () => {
    await ask("what is it?");
    await answer();
    await ask("fail please");
    await answer();
    await page.locator("#samples input").first().check({ force: true });
    await page.waitForSelector("#picture:not([hidden])");
    await ask("and this?");
    await answer();
    const asked = [await served.next(), await served.next(), await served.next()];
    assert.deepEqual(asked.map((each) => each.history), [0, 1, 0]);
  });
});

describe("what is said to the server and gets lost on the way", () => {
  test("is said again over another link", async () => {
    let lost = 0;
    await page.route("**/quizglass.v1.SessionService/Send", (route) => (lost++ ? route.continue() : route.abort()));
    await ask("is it lost?");
    assert.match(await answer(), /45 crowns/);
    assert.equal((await served.next()).turn, "is it lost?");
    assert.match(await page.innerText("#link"), /Connected again/);
    trouble = trouble.filter((each) => !each.includes("ERR_FAILED"));
  });
});

describe("a link that is cut in the middle of an answer", () => {
  test("is opened again, and nothing is lost or comes twice", async () => {
    await ask("hold on");
    await page.waitForFunction(() => document.querySelector("#answer")?.textContent === "first,");
    await page.click(".options summary");
    await page.click("#cut");
    await page.waitForFunction(() => document.querySelector("#link")?.textContent.includes("is lost"));
    const other = await opened({});
    await other.fill("#question", "release it");
    await other.click("#send");
    await other.waitForSelector("#verdict:not([hidden])");
    assert.equal(await answer(), "first, then second");
    assert.match(await page.innerText("#link"), /Connected again/);
    const events = await page.locator("#events li").allTextContents();
    assert.deepEqual(events.map((line) => line.split(" ").at(2)), ["started:", "decided:", "answer:", "done:"]);
    assert.deepEqual([(await served.next()).turn, (await served.next()).turn], ["hold on", "release it"]);
    await other.context().close();
  });
});

describe("a link that goes silent", () => {
  for (const [when, question] of [["in the middle of an answer", "wait here"], ["when nothing runs", ""]])
    test(`${when} is asked whether it lives, and made anew`, async () => {
      const way = await silenceable(served.port);
      const context = await chrome.newContext();
      const other = await context.newPage();
      await other.clock.install();
      await other.goto(way.url);
      await other.waitForSelector("#samples img");
      await other.fill("#question", question || "is it open?");
      await other.click("#send");
      await other.waitForSelector(question ? "#stop:not([hidden])" : "#verdict:not([hidden])");
      await other.waitForSelector("#answer:not(.empty)");
      way.silence();
      const pinged = other.waitForRequest((request) => request.postData()?.includes('"ping"'));
      await other.clock.fastForward(question ? 3000 : 7000);
      await pinged;
      assert.equal(await other.innerText("#link"), "");
      await other.clock.fastForward(question ? 3000 : 7000);
      await other.waitForFunction(() => document.querySelector("#link").textContent.includes("Connected again"));
      if (question) {
        assert.equal(await other.innerText("#answer"), "so far");
        await other.click("#stop");
        assert.deepEqual([(await served.next()).turn, (await served.next()).cancelled], [question, question]);
      } else await served.next();
      await context.close();
      way.close();
    });
});

describe("a server that does not answer", () => {
  test("is reported, with the question kept, until it answers again", async () => {
    const way = await silenceable(served.port);
    const context = await chrome.newContext();
    const other = await context.newPage();
    await other.goto(way.url);
    await other.waitForSelector("#samples img");
    await other.waitForFunction(() => document.querySelectorAll("#policy option").length > 1);
    way.refuse(true);
    await other.fill("#question", "is it there?");
    await other.click("#send");
    await other.waitForSelector("#error:not([hidden])");
    assert.match(await other.innerText("#trouble"), /The server does not answer\..*your question is kept/);
    assert.equal(await other.innerText("#answer"), "Waiting for the server …");
    way.refuse(false);
    await other.click("#retry");
    await other.waitForSelector("#verdict:not([hidden])");
    assert.match(await other.innerText("#answer"), /45 crowns/);
    assert.equal(await other.isVisible("#error"), false);
    assert.equal((await served.next()).turn, "is it there?");
    await context.close();
    way.close();
  });

  test("is reported to a page without a session too, and is retried by a button", async () => {
    await page.context().close();
    page = await (await chrome.newContext()).newPage();
    await page.addInitScript(() => Object.defineProperty(globalThis.crypto, "subtle", { value: undefined }));
    await page.goto(served.url);
    await page.route("**/quizglass.v1.AssistantService/Ask", (route) => route.abort());
    await ask("is it there?");
    await page.waitForSelector("#error:not([hidden])");
    assert.match(await page.innerText("#trouble"), /The server does not answer/);
    assert.equal(await page.innerText("#answer"), "There is no answer.");
    await page.unroute("**/quizglass.v1.AssistantService/Ask");
    await page.click("#retry");
    await page.waitForSelector("#verdict:not([hidden])");
    assert.match(await answer(), /45 crowns/);
    await served.next();
  });
});

describe("a picture that is badly taken", () => {
  /** A sample of the page, blurred by so many pixels, as a file. */
  async function blurred(pixels) {
    const data = await page.evaluate(async (pixels) => {
      const picture = await createImageBitmap(await (await fetch("/samples/2.png")).blob());
      const canvas = new OffscreenCanvas(picture.width, picture.height);
      const pen = canvas.getContext("2d");
      pen.filter = pixels ? `blur(${pixels}px)` : "none";
      pen.drawImage(picture, 0, 0);
      return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
    }, pixels);
    return { name: "mine.png", mimeType: "image/png", buffer: Buffer.from(data) };
  }

  test("is reported with advice before there is a question, until the next frame", async () => {
    await page.setInputFiles("#file", await blurred(8));
    await page.waitForFunction(() => document.querySelector("#fault").textContent);
    assert.equal(await page.innerText("#fault"), "The picture is blurred. Try again: hold still.");
    assert.equal(await page.getAttribute("#fault", "aria-live"), "polite");
    await page.setInputFiles("#file", await blurred(0));
    await page.waitForFunction(() => !document.querySelector("#fault").textContent);
    await ask("is it sharp?");
    await answer();
    assert.equal(await page.innerText("#fault"), "");
    await served.next();
  });
});

describe("the camera", () => {
  test("gives the picture that is asked about", async () => {
    await page.click("#camera");
    await page.waitForFunction(() => document.querySelector("#video")?.videoWidth > 0);
    await page.click("#snap");
    await ask("what is this?");
    await answer();
    assert.equal((await served.next()).width, 672);
    assert.equal(await page.isVisible("#video"), false);
    assert.equal(await page.isVisible("#camera"), true);
  });

  test("that the browser does not give is reported, and a file is taken instead", async () => {
    const without = await browser("--deny-permission-prompts");
    const context = await without.newContext();
    page = await context.newPage().then(async (fresh) => {
      await page.context().close();
      await fresh.goto(served.url);
      return fresh;
    });
    await page.click("#camera");
    await page.waitForSelector("#camera-note:not([hidden])");
    assert.match(await page.innerText("#camera-note"), /Choose a file instead/);
    assert.match(await page.getByRole("status").filter({ hasText: "Choose a file instead" }).innerText(), /./); // it is said aloud
    const png = Buffer.from(await (await fetch(`${served.url}/samples/2.png`)).arrayBuffer());
    await page.setInputFiles("#file", { name: "mine.png", mimeType: "image/png", buffer: png });
    await ask("what is in my file?");
    await answer();
    assert.equal((await served.next()).width, 448);
    assert.equal(await page.getAttribute("#picture", "alt"), "Your file mine.png");
    await without.close();
    page = await opened({});
  });

  test("is not offered to a page that is not on this machine", async () => {
    const elsewhere = await browser(`--host-resolver-rules=MAP glasses.example:80 127.0.0.1:${served.port}`);
    const fresh = await elsewhere.newPage();
    await fresh.goto("http://glasses.example/");
    await fresh.waitForSelector("#camera-note:not([hidden])");
    assert.match(await fresh.innerText("#camera-note"), /localhost.*HTTPS/);
    assert.equal(await fresh.isVisible("#camera"), false);
    await fresh.fill("#question", "from elsewhere?");
    await fresh.click("#send");
    await fresh.waitForSelector("#verdict:not([hidden])");
    assert.equal((await served.next()).turn, "from elsewhere?");
    await elsewhere.close();
  });

  test("goes off by Escape, and the picture from before is back", async () => {
    await page.locator("#samples input").first().check({ force: true });
    await page.waitForSelector("#picture:not([hidden])");
    await page.click("#camera");
    await page.waitForFunction(() => document.querySelector("#video")?.videoWidth > 0);
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.querySelector("#video").srcObject), null);
    assert.deepEqual([await page.isVisible("#video"), await page.isVisible("#picture")], [false, true]);
    assert.equal(await page.evaluate(() => document.activeElement?.id), "camera");
  });

  test("stays off by Escape while it is being opened", async () => {
    await page.evaluate(() => {
      const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      window.given = Promise.withResolvers();
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        const camera = await open(wanted);
        await window.given.promise;
        navigator.mediaDevices.getUserMedia = open;
        return (window.late = camera);
      };
    });
    await page.click("#camera");
    await page.keyboard.press("Escape");
    await page.evaluate(() => window.given.resolve());
    await page.waitForFunction(() => window.late?.getTracks().every((track) => track.readyState === "ended"));
    assert.deepEqual([await page.isVisible("#video"), await page.isVisible("#camera")], [false, true]);
    assert.equal(await page.isVisible("#camera-note"), false);
  });

  test("is opened once, however often it is asked for", async () => {
    await page.evaluate(() => {
      const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      window.cameras = [];
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        const camera = await open(wanted);
        window.cameras.push(camera);
        return camera;
      };
      document.querySelector("#camera").click();
      document.querySelector("#camera").click();
    });
    await page.waitForFunction(() => window.cameras.length > 0 && document.querySelector("#video")?.videoWidth > 0);
    await page.click("#snap");
    await page.waitForSelector("#picture:not([hidden])");
    const live = await page.evaluate(() => window.cameras.flatMap((each) => each.getTracks()).filter((each) => each.readyState === "live").length);
    assert.equal(live, 0);
  });

  test("from a file may be removed, and the same file be chosen again", async () => {
    const file = { name: "mine.png", mimeType: "image/png", buffer: await page.locator("#samples img").first().screenshot() };
    await page.setInputFiles("#file", file);
    await page.waitForSelector("#picture:not([hidden])");
    await page.click("#remove");
    assert.equal(await page.inputValue("#file"), "", "browsers tell of no change where the file is the same");
    await page.setInputFiles("#file", file);
    await page.waitForSelector("#picture:not([hidden])");
  });

  test("a file that is no picture is reported", async () => {
    await page.setInputFiles("#file", { name: "a.png", mimeType: "image/png", buffer: Buffer.from("no picture") });
    await page.waitForSelector("#camera-note:not([hidden])");
    assert.match(await page.innerText("#camera-note"), /no picture/);
  });
});

/** Colours of the four corners of a picture that is shown, and of its surroundings; red, green, blue and white as `cornered` has them. */
async function cornersShown(shown, width, height) {
  const taken = await shown.locator("#stage").screenshot();
  return shown.evaluate(
    async ([encoded, width, height]) => {
      const bytes = Uint8Array.from(atob(encoded), (each) => each.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes]));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      const pen = canvas.getContext("2d", { willReadFrequently: true });
      pen.drawImage(bitmap, 0, 0);
      const share = Math.min(bitmap.width / width, bitmap.height / height);
      const [wide, high] = [width * share, height * share];
      const [left, top] = [(bitmap.width - wide) / 2, (bitmap.height - high) / 2];
      // In the corner of the picture, a twentieth of its shorter side from both borders.
      const inset = Math.min(wide, high) / 20;
      return [[left + inset, top + inset], [left + wide - inset, top + inset], [left + inset, top + high - inset], [left + wide - inset, top + high - inset]].map(
        ([x, y]) => [...pen.getImageData(Math.round(x), Math.round(y), 1, 1).data.slice(0, 3)],
      );
    },
    [taken.toString("base64"), width, height],
  );
}

/** A picture with a colour in each corner, as a file. */
async function cornered(width, height) {
  const data = await page.evaluate(
    async ([width, height]) => {
      const canvas = new OffscreenCanvas(width, height);
      const pen = canvas.getContext("2d");
      pen.fillStyle = "gray";
      pen.fillRect(0, 0, width, height);
      const side = Math.min(width, height) / 5;
      for (const [colour, x, y] of [["#ff0000", 0, 0], ["#00ff00", 1, 0], ["#0000ff", 0, 1], ["#ffff00", 1, 1]]) {
        pen.fillStyle = colour;
        pen.fillRect(x * (width - side), y * (height - side), side, side);
      }
      return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
    },
    [width, height],
  );
  return { name: "mine.png", mimeType: "image/png", buffer: Buffer.from(data) };
}

describe("a picture is shown whole", () => {
  for (const width of [1280, 768, 360])
    for (const [shape, across, down] of [["square", 600, 600], ["portrait", 400, 900], ["panorama", 1600, 300], ["as the camera has it", 640, 480]])
      test(`${shape}, on a page of ${width} pixels`, async () => {
        const file = await cornered(across, down);
        const small = await opened({ viewport: { width, height: 740 } });
        await small.setInputFiles("#file", file);
        await small.waitForFunction((share) => {
          const shown = document.querySelector("#picture");
          return !shown.hidden && shown.complete && Math.abs(shown.naturalWidth / shown.naturalHeight / share - 1) < 0.02;
        }, across / down);
        const found = await cornersShown(small, across, down);
        for (const [at, colour] of [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0]].entries())
          for (const band of [0, 1, 2]) assert.ok(Math.abs(found[at][band] - colour[band]) < 40, `corner ${at} is ${found[at]}`);
        await small.context().close();
      });
});

describe("a picture with nothing in places", () => {
  test("has white there when it is made smaller", async () => {
    const seen = await page.evaluate(async () => {
      const { fitting } = await import("/picture.js");
      const canvas = new OffscreenCanvas(400, 400);
      canvas.getContext("2d").clearRect(0, 0, 400, 400);
      const bitmap = await createImageBitmap(await fitting(await canvas.convertToBlob(), 100));
      const small = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      small.drawImage(bitmap, 0, 0);
      return [...small.getImageData(50, 50, 1, 1).data];
    });
    assert.deepEqual(seen, [255, 255, 255, 255]);
  });

  test("and one of a format that the server does not take is converted, whatever it is called", async () => {
    const kinds = await page.evaluate(async () => {
      const { fitting } = await import("/picture.js");
      const gif = Uint8Array.from(atob("R0lGODlhCAAIAIAAAP8AAAAAACH5BAAAAAAALAAAAAAIAAgAAAIHhI+py+1dAAA7"), (each) => each.charCodeAt(0));
      const png = await new OffscreenCanvas(20, 20).getContext("2d").canvas.convertToBlob();
      return [(await fitting(new Blob([gif], { type: "image/jpeg" }), 100)).size === gif.length, (await fitting(new Blob([png], { type: "" }), 100)).size === png.size];
    });
    assert.deepEqual(kinds, [false, true]);
  });
});

describe("a note that is added", () => {
  /** What the server keeps of the notes, by their ids. */
  async function kept() {
    const listed = await page.evaluate(async () => (await import("/connect.js")).call("KnowledgeService/ListEntries", {}));
    return listed.entries ?? [];
  }

  async function add(title, text) {
    if (!(await page.locator("#note").isVisible())) await page.click("#note-box summary");
    await page.fill("#note-title", title);
    await page.fill("#note-text", text);
    await page.click("#add");
    await page.waitForFunction((words) => document.querySelector("#note-outcome").textContent.includes(words), title);
    // Chromium writes of an entry that is not there yet.
    trouble = trouble.filter((line) => !/status of 404/.test(line));
    return page.innerText("#note-outcome");
  }

  test("is of the picture that is shown; the same picture again changes it, and it can be taken back", async () => {
    await page.locator("#samples input").first().check({ force: true });
    await page.waitForSelector("#picture:not([hidden])");
    assert.match(await add("Gerda's aloe", "Water it rarely."), /^“Gerda's aloe” is among your notes now\./);
    assert.equal(await page.inputValue("#note-title"), "");
    const [first, ...others] = await kept();
    assert.deepEqual([first.title, first.text, first.pictureSha256.length, others.length], ["Gerda's aloe", "Water it rarely.", 1, 0]);
    assert.match(first.id, /^photo-[0-9a-f]{12}$/);
    await page.click("#note-outcome button");
    await page.waitForFunction(() => document.querySelector("#note-outcome").textContent.includes("taken back"));
    assert.deepEqual(await kept(), []);
    await add("Gerda's aloe", "Water it rarely.");
    assert.match(await add("Gerda's aloe", "Water it weekly."), /^Your note “Gerda's aloe” about this picture was changed\.$/);
    const [again] = await kept();
    assert.deepEqual([again.id, again.text, again.pictureSha256.length], [first.id, "Water it weekly.", 1]);
    await page.evaluate(async (id) => (await import("/connect.js")).call("KnowledgeService/DeleteEntry", { id }), first.id);
  });

  test("that is changed is deleted by itself when it was to be", async () => {
    await page.locator("#samples input").first().check({ force: true });
    await page.waitForSelector("#picture:not([hidden])");
    await add("A guest", "Stays a week.");
    const [{ id }] = await kept();
    await page.evaluate(async (id) => {
      const { stream } = await import("/connect.js");
      const entry = { id, title: "A guest", text: "Stays a week.", expiresAfterS: "604800" };
      for await (const report of stream("KnowledgeService/AddEntries", { entry }, new AbortController().signal)) void report;
    }, id);
    await add("A guest", "Stays in the blue room.");
    const [changed] = await kept();
    assert.deepEqual([changed.text, changed.expiresAfterS], ["Stays in the blue room.", "604800"]);
    await page.evaluate(async (id) => (await import("/connect.js")).call("KnowledgeService/DeleteEntry", { id }), id);
  });

  test("needs no picture, is counted, and says why it was refused", async () => {
    await add("The bin", "It goes out before 6:30.");
    await page.waitForFunction(() => /\b1 note\b/.test(document.querySelector("#about").textContent));
    await page.click("#note-outcome button");
    await page.waitForFunction(() => /no notes yet/.test(document.querySelector("#about").textContent));
    await page.fill("#note-title", " ");
    await page.click("#add");
    await page.waitForFunction(() => /^It was not added: title: is missing/.test(document.querySelector("#note-outcome").textContent));
    trouble = trouble.filter((line) => !/status of 404/.test(line));
    assert.equal(await page.inputValue("#note-title"), " ");
    assert.deepEqual(await kept(), []);
  });
});

describe("an answer on a small screen", () => {
  for (const question of ["does it fit?", "unsupported please", "unknown to all"])
    test(`is in view: ${question}`, async () => {
      const small = await opened({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
      await small.fill("#question", question);
      await small.click("#send");
      await small.waitForSelector("#verdict:not([hidden])");
      await served.next();
      for (const place of ["#answer", "#verdict"]) {
        const { y, height } = await small.locator(place).boundingBox();
        assert.ok(y >= 0 && y + height <= 740, `${place} from ${y} to ${y + height}`);
      }
      await small.context().close();
    });
});

describe("the pictures to try", () => {
  test("are those of the bundle, and none where it has none", async () => {
    await page.route("**/samples/samples.json", (route) => route.fulfill({ json: { samples: [] } }));
    assert.equal(await page.isVisible("#samples-box"), true);
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll("#policy option").length > 1);
    assert.equal(await page.isVisible("#samples-box"), false);
  });
});

describe("a question that is spoken", () => {
  test("is heard, shown as it was understood, and answered about the picture", async () => {
    await page.locator("#samples input").first().check({ force: true });
    await page.click("#speak");
    await page.waitForFunction(() => document.querySelector("#voice-note").textContent.startsWith("I hear you."));
    assert.equal(await page.getAttribute("#speak", "aria-pressed"), "true");
    await page.click("#speak");
    await page.waitForFunction(() => document.querySelector("#answer").textContent.startsWith("45 crowns"));
    assert.deepEqual([await page.inputValue("#question"), await page.innerText("#speak")], ["spoken, what is it?", "Speak"]);
    const turn = await served.next();
    assert.deepEqual([turn.turn, turn.width], ["spoken, what is it?", 448]);
  });

  test("can be spoken by keyboard alone, on a small screen", async () => {
    await page.setViewportSize({ width: 360, height: 640 });
    await page.focus("#question");
    while ((await page.evaluate(() => document.activeElement?.id)) !== "speak") await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#voice-note").textContent.startsWith("I hear you."));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#answer").textContent.startsWith("45 crowns"));
    await served.next();
  });

  test("is given up by Escape, and the microphone is let go", async () => {
    await page.click("#speak");
    await page.waitForFunction(() => document.querySelector("#voice-note").textContent.startsWith("I hear you."));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector("#speak").textContent === "Speak");
    await ask("typed instead");
    assert.match(await answer(), /45 crowns/);
    assert.equal((await served.next()).turn, "typed instead");
  });

  test("needs a permission, and says how to go on without", async () => {
    await page.evaluate(() => (navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "NotAllowedError"))));
    await page.click("#speak");
    await page.waitForFunction(() => /not permitted.*type your question/.test(document.querySelector("#voice-note").textContent));
    await ask("typed instead");
    assert.match(await answer(), /45 crowns/);
    await served.next();
  });
});

describe("a question whose session is lost before it is understood", () => {
  test("is sent again to the next one, and answered", async () => {
    const mine = await server("--withheld");
    const way = await silenceable(mine.port);
    const context = await chrome.newContext();
    const other = await context.newPage();
    await other.goto(way.url);
    await other.waitForSelector("#samples img");
    await other.click("#speak");
    await other.waitForFunction(() => document.querySelector("#voice-note").textContent.startsWith("I hear you."));
    await other.click("#speak");
    assert.deepEqual(await mine.next(), { withheld: true });
    await other.route("**/quizglass.v1.SessionService/Attach", (route) => {
      const asked = route.request().postDataBuffer().toString("latin1");
      const postData = asked.replace(/"sessionId":"[0-9a-f]{32}"/, `"sessionId":"${"0".repeat(32)}"`);
      return route.continue({ postData: Buffer.from(postData, "latin1") });
    });
    way.refuse(true);
    way.refuse(false);
    assert.equal((await mine.next()).turn, "spoken, what is it?");
    await other.waitForFunction(() => document.querySelector("#answer").textContent.startsWith("45 crowns"));
    await context.close();
    way.close();
    await mine.stop();
  });
});

describe("a microphone that stays open", () => {
  let other, mine; // it asks as long as it is open: what its server says is no other test's

  before(async () => {
    const spoken = join(mkdtempSync(join(tmpdir(), "quizglass-")), "spoken.wav");
    writeFileSync(spoken, tone(1, 1.5));
    mine = await server();
    other = await browser(...CAMERA, `--use-file-for-fake-audio-capture=${spoken}`);
  });
  after(async () => {
    await other?.close();
    await mine?.stop();
  });
  beforeEach(async () => {
    await page.context().close();
    page = await opened({ viewport: { width: 360, height: 640 } }, mine.url, other);
    await page.evaluate(() => {
      globalThis.paused = globalThis.stopped = 0;
      const [suspend, stop] = [AudioContext.prototype.suspend, AudioBufferSourceNode.prototype.stop];
      AudioContext.prototype.suspend = function () {
        globalThis.paused += 1;
        return suspend.apply(this);
      };
      AudioBufferSourceNode.prototype.stop = function (...about) {
        globalThis.stopped += 1;
        return stop.apply(this, about);
      };
    });
  });

  test("hears question after question, by keyboard alone, and is let go by its switch", async () => {
    await page.focus("#question");
    while ((await page.evaluate(() => document.activeElement?.id)) !== "open") await page.keyboard.press("Tab");
    const name = await page.getByRole("switch", { name: "Keep the microphone open" }).getAttribute("id");
    assert.equal(name, "open");
    await page.keyboard.press("Space");
    assert.equal((await mine.next()).turn, "spoken, what is it?");
    assert.equal((await mine.next()).turn, "spoken, what is it?");
    await page.waitForFunction(() => document.querySelector("#voice-note").textContent.startsWith("Heard: spoken, what is it?"));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    assert.equal(await page.isDisabled("#speak"), true);
    await page.uncheck("#open");
    await page.waitForFunction(() => !document.querySelector("#speak").disabled);
    assert.match(await answer(), /45 crowns/);
  });

  test("has an answer that is read aloud pause, and end by a voice", async () => {
    await page.check("#aloud");
    await page.check("#open");
    await mine.next();
    await page.waitForFunction(() => globalThis.paused && globalThis.stopped);
    await mine.next();
    await page.uncheck("#open");
  });

  test("that is not permitted says how to go on without", async () => {
    await page.evaluate(() => (navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "NotAllowedError"))));
    await page.locator("#open").click();
    await page.waitForFunction(() => /not permitted.*type your question/.test(document.querySelector("#voice-note").textContent));
    assert.equal(await page.isChecked("#open"), false);
  });
});

describe("a microphone that fails", () => {
  let mine; // what was heard before it failed may be asked: that is no other test's

  before(async () => (mine = await server()));
  after(() => mine?.stop());
  beforeEach(async () => {
    await page.context().close();
    page = await opened({}, mine.url);
  });

  /** Has the page's microphones be known. */
  const known = () =>
    page.evaluate(() => {
      globalThis.tracks = [];
      const given = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        const stream = await given(wanted);
        globalThis.tracks.push(...stream.getTracks());
        return stream;
      };
    });
  /** As where it is unplugged, or its permission taken back. */
  const unplug = () => page.evaluate(() => globalThis.tracks.forEach((track) => (track.stop(), track.dispatchEvent(new Event("ended")))));

  for (const control of ["speak", "open"])
    test(`to be read is let go: ${control}`, async () => {
      await known();
      await page.evaluate(() => (AudioWorklet.prototype.addModule = () => Promise.reject(new DOMException("blocked", "AbortError"))));
      await page.locator(`#${control}`).click();
      await page.waitForFunction(() => /^The microphone cannot be opened/.test(document.querySelector("#voice-note").textContent));
      assert.deepEqual(await page.evaluate(() => globalThis.tracks.map((track) => track.readyState)), ["ended"]);
      assert.equal(await page.isChecked("#open"), false);
    });

  test("in the middle of a question has what was heard until then asked", async () => {
    await known();
    await page.click("#speak");
    await page.waitForFunction(() => document.querySelector("#voice-note").textContent.startsWith("I hear you."));
    await unplug();
    await page.waitForFunction(() => document.querySelector("#answer").textContent.startsWith("45 crowns"));
    assert.equal(await page.innerText("#speak"), "Speak");
    assert.equal((await mine.next()).turn, "spoken, what is it?");
  });

  test("to be wanted, as the page is left, is let go", async () => {
    await known();
    await page.check("#open");
    await page.waitForFunction(() => globalThis.tracks.length);
    await page.evaluate(() => window.dispatchEvent(new Event("pagehide")));
    await page.waitForFunction(() => globalThis.tracks.every((track) => track.readyState === "ended"));
    assert.equal(await page.isChecked("#open"), false);
  });

  test("while it stays open is said to be gone", async () => {
    await known();
    await page.check("#open");
    await page.waitForFunction(() => globalThis.tracks.length);
    await unplug();
    await page.waitForFunction(() => /^The microphone is gone/.test(document.querySelector("#voice-note").textContent));
    assert.equal(await page.isChecked("#open"), false);
    assert.equal(await page.isDisabled("#speak"), false);
  });
});

describe("a browser that keeps nothing for pages", () => {
  test("answers all the same", async () => {
    const context = await chrome.newContext();
    await context.addInitScript(() => {
      for (const name of ["localStorage", "sessionStorage"])
        Object.defineProperty(window, name, {
          get() {
            throw new DOMException("Access is denied for this document.", "SecurityError");
          },
        });
    });
    await page.context().close();
    page = await context.newPage();
    page.on("pageerror", (error) => trouble.push(error.message));
    await page.goto(served.url);
    await page.waitForFunction(() => document.querySelectorAll("#policy option").length > 1);
    await ask("what is it?");
    assert.match(await answer(), /45 crowns/);
    await served.next();
  });
});

describe("an answer that is read aloud", () => {
  test("is played segment by segment, and ends with Escape", async () => {
    await page.evaluate(() => {
      globalThis.seconds = 0;
      const start = AudioBufferSourceNode.prototype.start;
      AudioBufferSourceNode.prototype.start = function (...about) {
        globalThis.seconds += this.buffer.duration;
        return start.apply(this, about);
      };
    });
    await page.check("#aloud");
    await ask("what is it?");
    assert.match(await answer(), /45 crowns/);
    const seconds = await page.evaluate(() => globalThis.seconds);
    assert.ok(Math.abs(seconds - 1.7) < 0.01, `${seconds} s of "forty-five crowns"`);
    await page.keyboard.press("Escape");
    await served.next();
  });

  test("is not wanted at first, and nothing is played", async () => {
    assert.equal(await page.isChecked("#aloud"), false);
    await page.evaluate(() => (AudioContext.prototype.createBufferSource = () => assert.fail()));
    await ask("what is it?");
    assert.match(await answer(), /45 crowns/);
    await served.next();
  });
});

describe("words on the page", () => {
  test("are none of the server's own", async () => {
    await page.locator("#samples input").first().check({ force: true });
    await ask("what is it?");
    await answer();
    await served.next();
    for (const summary of await page.locator("summary:visible").all()) await summary.click();
    const words = await page.innerText("body");
    assert.doesNotMatch(words, /planning-agent|coach|scores\b|ledger|decoder_|image_encoder|wordgate|PLAN_|policy|turn\b|evidence/i);
  });
});

describe("the page", () => {
  test("is small, and takes nothing from elsewhere", async () => {
    const context = await chrome.newContext();
    const fresh = await context.newPage();
    let bytes = 0;
    const hosts = new Set();
    fresh.on("response", async (response) => hosts.add(new URL(response.url()).host));
    fresh.on("requestfinished", async (request) => {
      const sizes = await request.sizes();
      bytes += sizes.responseBodySize;
    });
    await fresh.goto(served.url);
    await fresh.waitForSelector("#samples img");
    await fresh.waitForFunction(() => document.querySelectorAll("#policy option").length > 1 && [...document.images].every((each) => each.complete));
    assert.deepEqual([...hosts], [new URL(served.url).host]);
    assert.ok(bytes > 10_000 && bytes <= MOST_BYTES, `${bytes} bytes`);
    await context.close();
  });

  test("can be used by keyboard alone", async () => {
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "question");
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Enter");
    assert.match(await answer(), /45 crowns/);
    await served.next();
    const reached = new Set();
    for (let step = 0; step < 40; step++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName));
    }
    for (const id of ["camera", "file", "question", "send"]) assert.ok(reached.has(id), `${id} in ${[...reached]}`);
    for (const tag of ["SUMMARY", "INPUT", "A"]) assert.ok(reached.has(tag), `${tag} in ${[...reached]}`);
  });

  test("every control has a name, and every picture a text", async () => {
    await page.locator("#samples input").first().check({ force: true });
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, input, select, a, summary")]
        .filter((each) => each.checkVisibility() && !(each.labels?.length || each.textContent.trim() || each.getAttribute("aria-label")))
        .map((each) => each.outerHTML),
    );
    assert.deepEqual(nameless, []);
    assert.deepEqual(await page.evaluate(() => [...document.images].filter((each) => !each.hasAttribute("alt")).length), 0);
  });

  for (const [scheme, width] of [["light", 360], ["dark", 360], ["light", 1280]])
    test(`fits ${width} pixels, ${scheme}`, async () => {
      const small = await opened({ viewport: { width, height: 740 }, colorScheme: scheme });
      await small.fill("#question", "does it fit?");
      await small.click("#send");
      await small.waitForSelector("#verdict:not([hidden])");
      await served.next();
      const wide = await small.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} pixels`);
      for (const button of await small.locator("button:visible, .button:visible").all()) {
        const { height } = await button.boundingBox();
        assert.ok(height >= 24, `${await button.innerText()} is ${height} pixels high`);
      }
      assert.deepEqual(await small.evaluate(contrasts), []);
      await small.context().close();
    });
});

/** Texts whose contrast is below that of WCAG AA, 4.5. Runs in the page. */
function contrasts() {
  const parsed = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => {
    const [R, G, B] = [r, g, b].map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")]
    .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) && each.checkVisibility())
    .map((each) => {
      const [one, two] = [light(parsed(getComputedStyle(each).color)), light(ground(each))];
      return [each.textContent.trim().slice(0, 40), (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05)];
    })
    .filter(([, contrast]) => contrast < 4.5);
}

describe("a page from elsewhere", () => {
  test("can neither ask nor read", async () => {
    const evil = createServer((_, response) => response.setHeader("content-type", "text/html").end("<h1>hello</h1>")).listen(0, "127.0.0.1");
    await once(evil, "listening");
    const context = await chrome.newContext();
    const foreign = await context.newPage();
    await foreign.goto(`http://127.0.0.1:${evil.address().port}/`);
    const tried = await foreign.evaluate(async (url) => {
      const attempts = {
        read: () => fetch(`${url}/v1/models`),
        ask: () => fetch(`${url}/quizglass.v1.AssistantService/Ask`, { method: "POST", headers: { "content-type": "application/connect+json" }, body: "x" }),
        blind: () => fetch(`${url}/v1/chat/completions`, { method: "POST", mode: "no-cors", body: '{"messages":[{"role":"user","content":"blind"}]}' }),
      };
      const outcomes = {};
      for (const [name, attempt] of Object.entries(attempts)) outcomes[name] = await attempt().then((r) => r.type, () => "refused");
      return outcomes;
    }, served.url);
    assert.equal(tried.read, "refused");
    assert.equal(tried.ask, "refused");
    await ask("is anybody else here?");
    await answer();
    assert.equal((await served.next()).turn, "is anybody else here?"); // and no turn before it
    await foreign.goto("about:blank");
    await context.close();
    evil.close();
  });
});

describe("the page's modules", () => {
  test("read envelopes whatever pieces they come in", async () => {
    const read = await page.evaluate(async () => {
      const { enveloped, envelopes } = await import("/connect.js");
      const texts = ["", "{}", "ä".repeat(300), '{"a":1}'];
      const whole = texts.map((text) => [...enveloped(text)]).flat();
      const outcomes = [];
      for (const size of [1, 2, 5, 7, 64, whole.length]) {
        const body = new ReadableStream({
          start(controller) {
            for (let at = 0; at < whole.length; at += size) controller.enqueue(new Uint8Array(whole.slice(at, at + size)));
            controller.close();
          },
        });
        const found = [];
        for await (const [, text] of envelopes(body)) found.push(text);
        outcomes.push(JSON.stringify(found) === JSON.stringify(texts));
      }
      return outcomes;
    });
    assert.deepEqual(read, [true, true, true, true, true, true]);
  });

  test("compute CRC-32C as RFC 3720 has it", async () => {
    const sums = await page.evaluate(async () => {
      const { crc32c } = await import("/session.js");
      return [new Uint8Array(32), new Uint8Array(32).fill(255), Uint8Array.from({ length: 32 }, (_, i) => i)].map(crc32c);
    });
    assert.deepEqual(sums, [0x8a9136aa, 0x62a8ab43, 0x46dd794e]);
  });

  // A question that arrives before an earlier one is ended by it, and a cancellation before its question cancels nothing.
  test("say one thing after the other, however long the first takes to arrive", async () => {
    const seen = await page.evaluate(async () => {
      const { enveloped } = await import("/connect.js");
      const { Session } = await import("/session.js");
      const opened = { opened: { sessionId: "one", limits: { pingUs: "3600000000", progressUs: "3600000000" } } };
      const attached = () => new ReadableStream({ start: (stream) => stream.enqueue(enveloped(JSON.stringify(opened))) });
      const [sent, arrive] = [[], []];
      window.fetch = async (path, { body }) => {
        if (path.endsWith("/Attach")) return new Response(attached());
        sent.push(...JSON.parse(body).messages.map((message) => Object.keys(message)[0]));
        return new Promise((resolve) => arrive.push(() => resolve(new Response("{}"))));
      };
      const session = await new Promise((resolve) => {
        const made = new Session(() => resolve(made), () => {});
      });
      const stopped = new AbortController();
      const first = session.ask({ question: "What?" }, stopped.signal).next();
      stopped.abort();
      await first.catch(() => {});
      session.ask({ question: "And now?" }, new AbortController().signal);
      const seen = [];
      for (let at = 0; at < 4; at++) {
        do await new Promise((resolve) => setTimeout(resolve));
        while (sent.length <= at);
        seen.push(sent.join(" "));
        arrive[at]?.();
      }
      return seen;
    });
    assert.deepEqual(seen, ["ask", "ask cancel", "ask cancel ack", "ask cancel ack ask"]);
  });

  test("leave a spoken question that came to nothing out of the next session", async () => {
    const said = await page.evaluate(async () => {
      const { enveloped } = await import("/connect.js");
      const { Session } = await import("/session.js");
      const limits = { pingUs: "3600000000", progressUs: "3600000000", maxSpeechUs: "30000000" };
      const [links, sent] = [[], { 1: [], 2: [] }];
      const tell = (link, message) => link.enqueue(enveloped(JSON.stringify(message)));
      const arrived = async (done) => {
        while (!done()) await new Promise((resolve) => setTimeout(resolve));
      };
      window.fetch = async (path, { body }) => {
        if (path.endsWith("/Send")) {
          const { sessionId, messages } = JSON.parse(body);
          sent[sessionId].push(...messages);
          return new Response("{}");
        }
        const start = (link) => tell(link, { opened: { sessionId: String(links.push(link)), limits } });
        return new Response(new ReadableStream({ start }));
      };
      const session = new Session(() => {}, () => {});
      await arrived(() => session.hears);
      async function* pieces() {
        yield new Uint8Array(640);
      }
      const events = session.say({}, { rateHz: 16_000, pieces: pieces() }, new AbortController().signal);
      const first = events.next();
      await arrived(() => sent[1].some((message) => message.speechEnd));
      tell(links[0], { seq: "1", transcript: { askId: sent[1].find((message) => message.speechEnd).speechEnd.id, final: true } });
      const { value } = await first; // and no more of them is taken
      links[0].close();
      await arrived(() => links.length === 2);
      session.ask({ question: "And now?" }, new AbortController().signal);
      await arrived(() => sent[2].some((message) => message.ask));
      return [value.heard.final, ...sent[2].flatMap(Object.keys)];
    });
    assert.deepEqual(said, [true, "ask"]);
  });

  test("begin a turn anew when it is accepted again", async () => {
    const answer = await page.evaluate(async () => {
      const { Turn } = await import("/turn.js");
      const turn = new Turn();
      for (const text of ["lost", "kept"]) for (const event of [{ accepted: {} }, { answerDelta: { text } }]) turn.take(event);
      return [turn.answer, turn.moments.length];
    });
    assert.deepEqual(answer, ["kept", 2]);
  });

  test("mark what citations cover, in code points", async () => {
    const parts = await page.evaluate(async () => {
      const { cited } = await import("/turn.js");
      return cited("𝄞 costs 45 crowns", [{ evidenceId: "2", start: 2, end: 17 }, { evidenceId: "1", end: 7 }]);
    });
    assert.deepEqual(parts, [
      { text: "𝄞 ", ids: ["1"] },
      { text: "costs", ids: ["2", "1"] },
      { text: " 45 crowns", ids: ["2"] },
    ]);
  });
});
