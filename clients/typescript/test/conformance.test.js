// The scenarios that every client replays, over both transports.

import { readdirSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import * as browser from "../dist/browser.js";
import * as node from "../dist/node.js";
import { camel, Replay } from "./replay.js";
import { Stage } from "./stage.js";

const FOLDER = new URL("../../conformance/", import.meta.url);
const SCENARIOS = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
const stage = new Stage();
after(() => stage.stop());

for (const transport of /** @type {const} */ (["grpc", "http"])) {
  for (const name of SCENARIOS) {
    test(`${name.slice(0, -".json".length)} over ${transport}`, { timeout: 60_000 }, async () => {
      const scenario = JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"));
      const targets = await stage.do({ begin: { answers: scenario.answers, settings: scenario.settings, hears: scenario.hears } });
      const { openSession } = transport === "grpc" ? node : browser;
      const options = { ...camel(scenario.open ?? {}), pictures: stage.codec };
      const open = (/** @type {Uint8Array | undefined} */ state) =>
        openSession(targets[transport], { ...options, ...(state && { state }) });
      const replay = new Replay(stage, open, await open(undefined));
      try {
        for (const step of scenario.steps) await replay.step(step);
        await replay.check(scenario);
      } finally {
        await replay.session.close();
      }
    });
  }
}
