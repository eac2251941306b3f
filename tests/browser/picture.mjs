// Takes the picture of the page that the documentation shows, for `docs/make_pictures.py`:
// node picture.mjs URL FILE.png PHOTOGRAPH QUESTION

import { browser } from "./server.mjs";

const [, , url, file, photograph, question] = process.argv;
const chrome = await browser();
const page = await chrome.newPage({ viewport: { width: 1080, height: 1040 } });
await page.goto(url);
for (let time = 0; time < 2; time++) {
  // The second time everything is warm.
  await page.click("#fresh", { force: true }).catch(() => {});
  await page.evaluate(() => document.querySelector("#dialogue").replaceChildren());
  await page.setInputFiles("#file", photograph);
  await page.fill("#question", question);
  await page.click("#send");
  await page.waitForSelector("#ask:not(.busy)");
}
await page.evaluate(() => document.activeElement?.blur());
await page.waitForFunction(() => [...document.images].every((each) => each.complete));
await page.screenshot({ path: file, fullPage: true });
await chrome.close();
