// The recipe for MentraOS in docs/devices.md, run against glasses whose photos fail or take long.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { eventually } from "./replay.js";
import { Stage } from "./stage.js";

const PAGE = new URL("../../../docs/devices.md", import.meta.url);
const RECIPES = new URL("../dist/recipes/", import.meta.url); // where the package's own name leads to it
const stage = new Stage();
after(() => stage.stop());

async function recipe() {
  const code = readFileSync(PAGE, "utf8").split("// mentra.js\n")[1]?.split("```")[0] ?? "";
  mkdirSync(RECIPES, { recursive: true });
  writeFileSync(new URL("mentra.js", RECIPES), code);
  return import(new URL("mentra.js", RECIPES).href);
}

/** Glasses that do what `photo` does. @param {() => Promise<{buffer: Uint8Array}>} photo */
function glasses(photo) {
  /** @type {(data: {text: string, isFinal: boolean}) => Promise<void>} */
  let hear = async () => {};
  /** @type {string[]} */
  const shown = [];
  return {
    shown,
    photo,
    say: (/** @type {string} */ text, isFinal = true) => hear({ text, isFinal }),
    events: { onTranscription: (/** @type {typeof hear} */ listener) => void (hear = listener) },
    camera: { requestPhoto: () => app.photo() },
    layouts: { showTextWall: (/** @type {string} */ text) => void shown.push(text) },
  };
}

/** @type {ReturnType<typeof glasses>} */
let app;

test("what the wearer says is answered about a photo, and a photo that fails or takes long is reported", async () => {
  const { converse } = await recipe();
  const targets = await stage.do({ begin: {} });
  const buffer = await stage.picture("small");
  app = glasses(async () => ({ buffer }));
  const session = await converse(app, targets.grpc, 20);
  await app.say("How mu", false);
  await app.say("How much is it?");
  assert.deepEqual(app.shown.splice(0), ["45 crowns"]);
  app.photo = () => Promise.reject(new Error("CAMERA_BUSY"));
  await app.say("And this?");
  assert.deepEqual(app.shown.splice(0), ["No answer: CAMERA_BUSY"]);
  /** @type {(photo: {buffer: Uint8Array}) => void} */
  let taken = () => {};
  app.photo = () => new Promise((resolve) => (taken = resolve));
  const slow = app.say("What is it?");
  await eventually(() => app.shown.includes("Waiting for the photo"), "a word about the photo");
  taken({ buffer });
  await slow;
  assert.deepEqual(app.shown.splice(0), ["Waiting for the photo", "45 crowns"]);
  await session.close();
});

for (const then of ["A cup.", "A mug."]) {
  test(`a draft is shown once it is confirmed, and not when it is withdrawn: ${then}`, async () => {
    const { converse } = await recipe();
    const targets = await stage.do({ begin: { answers: { "What is it?": { draft: "A cup.", then } } } });
    const buffer = await stage.picture("small");
    app = glasses(async () => ({ buffer }));
    const session = await converse(app, targets.grpc, 60_000);
    await app.say("What is it?");
    assert.deepEqual(app.shown, [then]);
    await session.close();
  });
}

test("a question that was overtaken by another one is not asked any more", async () => {
  const { converse } = await recipe();
  const targets = await stage.do({ begin: {} });
  const buffer = await stage.picture("small");
  /** @type {((photo: {buffer: Uint8Array}) => void)[]} */
  const taken = [];
  app = glasses(() => new Promise((resolve) => taken.push(resolve)));
  const session = await converse(app, targets.grpc, 60_000);
  const first = app.say("What was that?");
  const second = app.say("And how much is this?");
  taken[1]?.({ buffer });
  await second;
  taken[0]?.({ buffer });
  await first;
  assert.deepEqual(app.shown, ["45 crowns"]);
  await session.close();
});
