// Asks by the server's page in Chromium: `node page.mjs NODE_MODULES URL`. Takes a JSON object a line with `question`,
// `picture` (JPEG in base64), `policy` and `ahead` (milliseconds from picture to question), and answers with `ms`: from the
// question to the first words that stand on the page.

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

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const { question, picture, policy, ahead } = JSON.parse(line);
  const page = await browser.newPage(); // a dialogue would make prompts longer
  await page.goto(url);
  await page.waitForSelector(`#policy option[value="${policy}"]`, { state: "attached" });
  await page.selectOption("#policy", policy, { force: true });
  await page.setInputFiles("#file", { name: "frame.jpg", mimeType: "image/jpeg", buffer: Buffer.from(picture, "base64") });
  await page.waitForTimeout(ahead);
  const ms = await page.evaluate(firstWords, question);
  await page.waitForSelector("#ask:not(.busy)");
  await page.close();
  console.log(JSON.stringify({ ms }));
}
await browser.close();
