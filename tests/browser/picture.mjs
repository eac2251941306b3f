// Takes the picture of the page that the documentation shows, for `docs/make_pictures.py`: node picture.mjs URL FILE.png
// The server has the starter bundle and the knowledge of `make demo`.

import { browser } from "./server.mjs";

const [, , url, file] = process.argv;
const chrome = await browser();
const page = await chrome.newPage({ viewport: { width: 1080, height: 1040 } });
await page.goto(url);
await page.locator("#samples input").nth(4).check({ force: true });
for (let time = 0; time < 3; time++) {
  // The last time everything is warm.
  await page.click("#fresh", { force: true }).catch(() => {});
  await page.locator("#suggestions button").first().click();
  await page.waitForSelector("#ask:not(.busy)");
  await page.evaluate(() => document.querySelector("#dialogue").replaceChildren());
}
await page.evaluate(() => document.activeElement?.blur());
await page.waitForFunction(() => [...document.images].every((each) => each.complete));
await page.screenshot({ path: file, fullPage: true });
await chrome.close();
