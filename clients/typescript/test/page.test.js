// The examples of docs/clients.md are programs that the compiler takes as strictly as this package.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGE = new URL("../", import.meta.url);
const PAGE = readFileSync(new URL("../../docs/clients.md", PACKAGE), "utf8");
const GIVEN = `declare module "sharp";
declare const session: import("quizglass-client/node").Session;
declare const thumbnail: Uint8Array;
declare const camera: { crop(region: import("quizglass-client/node").Region, side: number): Promise<Uint8Array> };
`; // what examples take from the programs around them

test("every example of the page is compiled", { timeout: 120_000 }, () => {
  const examples = [...PAGE.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code ?? "");
  assert.ok(examples.length >= 4);
  const folder = mkdtempSync(fileURLToPath(new URL("dist/page-", PACKAGE))); // inside, where the package's own name is known
  try {
    writeFileSync(`${folder}/given.d.ts`, GIVEN);
    examples.forEach((code, number) => writeFileSync(`${folder}/example${number}.ts`, `${code}\nexport {};\n`));
    const settings = JSON.stringify({
      extends: "../../tsconfig.json",
      compilerOptions: { noUnusedLocals: false },
      include: ["."],
    });
    writeFileSync(`${folder}/tsconfig.json`, settings);
    const compiler = fileURLToPath(new URL("node_modules/typescript/bin/tsc", PACKAGE));
    const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
    assert.equal(status, 0, stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
