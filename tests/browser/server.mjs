// Starts the server of the tests and Chromium, and says what to install where there is none.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** A Chromium. Each flag is one of its own. */
export async function browser(...flags) {
  const path = process.env.CHROMIUM ?? PATHS.find((each) => existsSync(each));
  if (!path) throw new Error("no Chromium: apt install chromium, or give its path in CHROMIUM");
  return chromium.launch({ executablePath: path, args: ["--headless", "--no-sandbox", ...QUIET, ...flags] });
}

/** The server, and what it says of its turns; a protected one has a certificate, and says its token first. */
export async function server(...flags) {
  const python = process.env.PYTHON ?? `${ROOT}/.venv/bin/python`;
  const child = spawn(python, ["-m", "tests.browser.server", ...flags], { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const patience = AbortSignal.timeout(180_000);
    const late = new Promise((_, reject) => patience.addEventListener("abort", () => reject(new Error("the server says nothing"))));
    const { value, done } = await Promise.race([lines.next(), late]);
    if (done) throw new Error("the server ended");
    return JSON.parse(value);
  };
  const first = await next();
  const { url, port } = first.url ? first : await next();
  return {
    first,
    url,
    port,
    next,
    async stop() {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

/** A way to a port that can go silent: what is open then stays open, and nothing passes it any more. New connections do. */
export async function silenceable(port) {
  const open = new Set();
  let refused = false;
  const proxy = createServer((near) => {
    if (refused) return near.on("error", () => {}).destroy();
    const far = connect(port, "127.0.0.1");
    for (const [one, other] of [[near, far], [far, near]]) {
      open.add(one.on("error", () => {}).on("close", () => (open.delete(one), other.destroy())));
      one.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://localhost:${proxy.address().port}`,
    /** Whether what is open ends and nothing new is taken, as where a server has died. */
    refuse(now) {
      refused = now;
      if (now) for (const each of open) each.destroy();
    },
    silence() {
      for (const each of open) each.unpipe().pause();
    },
    close() {
      for (const each of open) each.destroy();
      proxy.close();
    },
  };
}
