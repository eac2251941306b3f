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

test("whoever logs out leaves nothing behind", async () => {
  const page = await opened();
  assert.equal(await page.isVisible("#log-out"), false);
  await logIn(page, token);
  await page.waitForSelector("#log-out:not([hidden])");
  await page.click("#log-out");
  await page.waitForSelector("#login:not([hidden])");
  assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0);
  assert.equal(await page.isVisible("#log-out"), false);
  await page.context().close();
});

test("a token that may not ask is named as what is wrong, to whoever asks and to whoever waits", async () => {
  const page = await opened();
  let attempts = 0;
  page.on("request", (request) => (attempts += request.url().endsWith("/Attach") ? 1 : 0));
  await logIn(page, served.first.reader);
  await page.waitForSelector("#error:not([hidden])");
  assert.match(await page.innerText("#trouble"), /reader.*ask/);
  assert.doesNotMatch(await page.innerText("#trouble"), /does not answer|all the time/);
  await page.fill("#question", "what is it?");
  await page.click("#send");
  await page.waitForFunction(() => document.querySelector("#answer").textContent === "There is no answer.");
  assert.match(await page.innerText("#trouble"), /reader.*ask/);
  assert.equal(attempts, 1);
  await page.context().close();
});

test("an operator pairs a phone, which stays logged in until it logs out", async () => {
  const page = await opened();
  await logIn(page, token);
  await page.click("#pair-box summary");
  await page.fill("#pair-name", "phone");
  await page.click("#pair-make");
  await page.waitForSelector("#pair-code:not([hidden])");
  await page.waitForFunction(() => document.querySelector("#qr").naturalWidth > 100);
  const link = await page.inputValue("#pair-link");
  const context = await chrome.newContext({ ignoreHTTPSErrors: true });
  const phone = await context.newPage();
  await phone.goto(link);
  await phone.waitForSelector("#log-out:not([hidden])");
  assert.equal(new URL(phone.url()).hash, "");
  assert.equal(await phone.isVisible("#pair-box"), false);
  const later = await context.newPage();
  await later.goto(served.url.replace("localhost", new URL(link).hostname));
  await later.waitForSelector("#log-out:not([hidden])");
  const again = await (await chrome.newContext({ ignoreHTTPSErrors: true })).newPage();
  await again.goto(link);
  await again.waitForFunction(() => /not paired: the code is not valid/.test(document.querySelector("#login-why").textContent));
  await context.close();
  await again.context().close();
  await page.context().close();
});

test("another tab has to log in by itself", async () => {
  const page = await opened();
  assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0);
  await page.context().close();
});
