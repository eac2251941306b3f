// The scripted server of the scenarios, behind its cutting proxy: a Python process that takes commands as lines of JSON.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const base64 = (/** @type {Uint8Array} */ bytes) => Buffer.from(bytes).toString("base64");

export class Stage {
  /** @type {Map<string, Promise<Uint8Array>>} */
  #pictures = new Map();
  #last = Promise.resolve();

  constructor() {
    const python = process.env.PYTHON ?? `${ROOT}.venv/bin/python`;
    this.child = spawn(python, ["-m", "tests.support.sessions.conformance"], { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** Carry out a command, after those before. @param {Record<string, unknown>} command @returns {Promise<any>} */
  do(command) {
    const done = this.#last.then(async () => {
      this.child.stdin.write(JSON.stringify(command) + "\n");
      const line = await this.lines.next();
      if (line.done) throw new Error("the scripted server has ended; see above");
      return JSON.parse(line.value).reply;
    });
    this.#last = done.catch(() => {});
    return done;
  }

  /** A picture of the scenarios. @param {string} name @returns {Promise<Uint8Array>} */
  picture(name) {
    let picture = this.#pictures.get(name);
    if (!picture) {
      picture = this.do({ picture: name }).then((text) => new Uint8Array(Buffer.from(text, "base64")));
      this.#pictures.set(name, picture);
    }
    return picture;
  }

  /** What makes pictures smaller, as Python's client does: Node itself reads none. @type {import("../dist/node.js").PictureCodec} */
  codec = {
    fit: (picture, side) => this.#coded({ fit: { picture: base64(picture), side } }),
    cut: (picture, { left, top, right, bottom }, side) =>
      this.#coded({ cut: { picture: base64(picture), region: [left, top, right, bottom], side } }),
  };

  /** @param {Record<string, unknown>} command */
  async #coded(command) {
    return new Uint8Array(Buffer.from(await this.do(command), "base64"));
  }

  async stop() {
    this.child.stdin.end();
    await once(this.child, "exit");
  }
}
