// The page of a server with a certificate and tokens: over HTTPS, with its camera, after a login.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, server } from "./server.mjs";

const CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];
let served, chrome, token;

before(async () => {
  served = await server("--protected");
  token = served.first.token;
  chrome = await browser(...CAMERA, "--ignore-certificate-errors");
});
after(async () => {
  await chrome?.close();
  await served?.stop();
});

async function opened() {
  const context = await chrome.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(served.url);
  await page.waitForSelector("#login:not([hidden])");
  return page;
}

async function logIn(page, text) {
  await page.fill("#token", text);
  await page.click("#login button");
}

test("the page asks for a token, and answers once it has one, with the camera", async () => {
  const page = await opened();
  assert.match(await page.innerText("#login-why"), /asks for a token/);
  await logIn(page, "qg_wrong");
  await page.waitForFunction(() => /none of this server/.test(document.querySelector("#login-why").textContent));
  await logIn(page, token);
  await page.waitForSelector("#login", { state: "hidden" });
  await page.click("#camera");
  await page.waitForFunction(() => document.querySelector("#video")?.videoWidth > 0);
  await page.click("#snap");
  await page.waitForSelector("#picture:not([hidden])");
  await page.fill("#question", "what is it?");
  await page.click("#send");
  await page.waitForFunction(() => /45 crowns/.test(document.querySelector("#answer").textContent));
  assert.equal((await served.next()).turn, "what is it?");
  await page.waitForFunction(() => document.querySelector("#evidence img")?.naturalWidth === 64);
  assert.equal(await page.evaluate(() => document.body.innerHTML.includes("qg_")), false);
  await page.reload();
  await page.fill("#question", "still logged in?");
  await page.click("#send");
  await page.waitForFunction(() => /45 crowns/.test(document.querySelector("#answer").textContent));
  assert.equal(await page.isVisible("#login"), false);
  assert.equal((await served.next()).turn, "still logged in?");
  await page.context().close();
});

test("another tab has to log in by itself", async () => {
  const page = await opened();
  assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0);
  await page.context().close();
});
