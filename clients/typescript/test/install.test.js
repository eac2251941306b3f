// The client as npm installs it from the folder of a clone, where nothing of it is built.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const HERE = fileURLToPath(new URL("..", import.meta.url));
const MADE = ["node_modules", "dist"].map((name) => join(HERE, name));

test("npm install builds what it installs", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "quizglass-"));
  t.after(() => rm(folder, { recursive: true }));
  const [clone, project] = [join(folder, "clone"), join(folder, "project")];
  await cp(HERE, clone, { recursive: true, filter: (path) => !MADE.includes(path) });
  await mkdir(project);
  await writeFile(join(project, "package.json"), "{}");
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", clone], { cwd: project });
  const code = `
    import { openSession } from "quizglass-client/node";
    import { Segment_State } from "quizglass-client/v1/session";
    console.log(typeof openSession, typeof Segment_State);`;
  const { stdout } = await run("node", ["--input-type=module", "--eval", code], { cwd: project });
  assert.equal(stdout, "function object\n");
});
