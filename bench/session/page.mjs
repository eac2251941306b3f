// Asks by the server's page in Chromium: `node page.mjs NODE_MODULES URL`. Takes a JSON object a line with `question`,
// `picture` (JPEG in base64), `policy`, `ahead` (milliseconds from picture to question) and `cold` (whether in a page that
// was just opened, else in one that stays open), and answers with `ms`: from the question to the first words that stand on
// the page.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { existsSync } from "node:fs";

const [modules, url] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)("playwright-core");
const path = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((each) => existsSync(each));
if (!path) throw new Error("no Chromium: apt install chromium, or give its path in CHROMIUM");
const browser = await chromium.launch({ executablePath: path, args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"] });

/** In the page. */
function firstWords(text) {
  const answer = document.getElementById("answer");
  const question = document.getElementById("question");
  return new Promise((resolve) => {
    const began = performance.now();
    question.value = text;
    document.getElementById("ask").requestSubmit();
    const look = () => {
      if (!answer.textContent.trim() || answer.classList.contains("empty")) return;
      watch.disconnect();
      resolve(performance.now() - began);
    };
    const watch = new MutationObserver(look);
    watch.observe(answer, { childList: true, characterData: true, subtree: true });
  });
}

async function opened() {
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForSelector("#samples img");
  return page;
}

/** Asks in a dialogue of its own: an earlier one would make prompts longer. */
async function asked(page, { question, picture, policy, ahead }) {
  await page.waitForSelector(`#policy option[value="${policy}"]`, { state: "attached" });
  await page.selectOption("#policy", policy, { force: true });
  await page.evaluate(() => document.getElementById("fresh").click());
  await page.setInputFiles("#file", { name: "frame.jpg", mimeType: "image/jpeg", buffer: Buffer.from(picture, "base64") });
  await page.waitForTimeout(ahead);
  const ms = await page.evaluate(firstWords, question);
  await page.waitForSelector("#ask:not(.busy)");
  return ms;
}

const warm = await opened();
console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const about = JSON.parse(line);
  const page = about.cold ? await browser.newPage() : warm;
  if (about.cold) await page.goto(url);
  const ms = await asked(page, about);
  if (about.cold) await page.close();
  console.log(JSON.stringify({ ms }));
}
await browser.close();
