// The TypeScript client in a real Chromium: its session over HTTP, and pictures that the browser makes smaller.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { relative } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { browser, server } from "./server.mjs";

const CLIENT = fileURLToPath(new URL("../../clients/typescript", import.meta.url));

let served, chrome, page;

before(async () => {
  served = await server();
  chrome = await browser();
  page = await chrome.newPage();
  page.on("pageerror", (error) => assert.fail(error));
  await page.route(`${served.url}/client/**`, (route) => {
    const path = new URL(route.request().url()).pathname.slice("/client/".length);
    if (!path) return route.fulfill({ contentType: "text/html", body: "<!doctype html><title>A page of its own</title>" });
    return route.fulfill({ contentType: "text/javascript", body: script(`${CLIENT}/${path}`) });
  });
  await page.goto(`${served.url}/client/`);
});
after(async () => {
  await chrome?.close();
  await served?.stop();
});

/** A module as a browser takes it: with the places of packages instead of their names, as a bundler has it. */
function script(path) {
  const found = createRequire(path);
  const place = (name) => relative(CLIENT, found.resolve(name).replace(/\/dist\/(cjs|commonjs)\//, "/dist/esm/"));
  return readFileSync(path, "utf8").replace(/\b(from|import) "([^".][^"]*)"/g, (_, word, name) => `${word} "/client/${place(name)}"`);
}

test("pictures are made smaller and upright, and parts cut out of them", async () => {
  const made = await page.evaluate(async () => {
    const { canvasPictures } = await import("/client/dist/browser.js");
    const canvas = new OffscreenCanvas(480, 360);
    const context = canvas.getContext("2d");
    context.fillStyle = "rgb(0, 0, 255)"; // the rest is transparent
    context.fillRect(240, 180, 120, 90);
    const encoded = async (type) => new Uint8Array(await (await canvas.convertToBlob({ type })).arrayBuffer());
    const [png, jpeg] = [await encoded("image/png"), await encoded("image/jpeg")];
    const exif = [255, 225, 0, 34, ...new TextEncoder().encode("Exif\0\0MM\0*"), 0, 0, 0, 8, 0, 1];
    const turned = Uint8Array.of(255, 216, ...exif, 1, 18, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, ...jpeg.subarray(2));
    const seen = async (picture) => {
      const bitmap = await createImageBitmap(new Blob([picture]));
      const looked = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      looked.drawImage(bitmap, 0, 0);
      const near = [...looked.getImageData(2, 2, 1, 1).data].map((shade) => Math.round(shade / 255));
      return [bitmap.width, bitmap.height, picture[0] === 255 ? "jpeg" : "png", ...near.slice(0, 3)];
    };
    const region = { left: 0.5, top: 0.5, right: 0.75, bottom: 0.75 };
    const none = Uint8Array.of(1, 2, 3);
    return {
      small: await seen(await canvasPictures.fit(png, 120)),
      upright: await seen(await canvasPictures.fit(turned, 120)),
      asItIs: (await canvasPictures.fit(png, 480)) === png && (await canvasPictures.fit(none, 9)) === none,
      part: await seen(await canvasPictures.cut(png, region, 0)),
      smallPart: await seen(await canvasPictures.cut(png, region, 60)),
    };
  });
  assert.deepEqual(made, {
    small: [120, 90, "jpeg", 1, 1, 1],
    upright: [90, 120, "jpeg", 0, 0, 0],
    asItIs: true,
    part: [120, 90, "jpeg", 0, 0, 1],
    smallPart: [60, 45, "jpeg", 0, 0, 1],
  });
});

test("a session sends a thumbnail, and the part of it that the server wants to see sharper", async () => {
  const told = await page.evaluate(async () => {
    const { openSession } = await import("/client/dist/browser.js");
    const canvas = new OffscreenCanvas(480, 360);
    canvas.getContext("2d").fillRect(240, 180, 50, 50);
    const session = await openSession();
    const picture = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
    const frame = await session.show(picture, { thumbnail: 120 });
    const turn = session.ask("Who made this?", { frame });
    const regions = [];
    for await (const said of turn) {
      if (said.case === "needFrame") regions.push(...said.value.frames.map((each) => each.region?.left));
    }
    const { text } = await turn.answer();
    await session.close();
    return { text, regions: regions.filter((each) => each !== undefined), links: session.links };
  });
  assert.deepEqual(told, { text: "45 crowns", regions: [0.5], links: 1 });
  const { turn, width } = await served.next();
  assert.deepEqual([turn, width], ["Who made this?", 480]);
});

test("a microphone that the page may not read is let go, and one that is unplugged ends", async () => {
  const told = await page.evaluate(async () => {
    const { openMicrophone } = await import("/client/dist/browser.js");
    const source = new AudioContext();
    const tracks = [];
    navigator.mediaDevices.getUserMedia = async () => {
      const { stream } = source.createMediaStreamDestination();
      tracks.push(...stream.getTracks());
      return stream;
    };
    const { addModule } = AudioWorklet.prototype;
    AudioWorklet.prototype.addModule = () => Promise.reject(new DOMException("blocked", "AbortError"));
    const refused = await openMicrophone().catch((error) => [error.name, error.field, error.message]);
    AudioWorklet.prototype.addModule = addModule;
    const microphone = await openMicrophone();
    tracks[1].stop();
    tracks[1].dispatchEvent(new Event("ended"));
    for await (const piece of microphone) if (!piece.length) break;
    return { refused, states: tracks.map((track) => track.readyState) };
  });
  assert.deepEqual(told.refused.slice(0, 2), ["InvalidRequest", "audio"]);
  assert.match(told.refused[2], /may not read its microphone: .*blocked/);
  assert.deepEqual(told.states, ["ended", "ended"]);
});
