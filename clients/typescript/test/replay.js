// Carries out a scenario (clients/conformance/README.md) with a session, and compares what came out.

import assert from "node:assert/strict";
import { Segment_State } from "../dist/gen/quizglass/v1/session_pb.js";
import { Restored } from "../dist/node.js";

/** @typedef {import("../dist/node.js").Session} Session */
/** @typedef {import("../dist/node.js").Turn} Turn */

const WAIT_MS = 20_000;

/** Wait for something that nobody tells of. @param {() => boolean} fits @param {string} what */
export async function eventually(fits, what) {
  for (const late = Date.now() + WAIT_MS; !fits(); await new Promise((resolve) => setTimeout(resolve, 10))) {
    if (Date.now() > late) throw new Error(`waited in vain: ${what}`);
  }
}

const snake = (/** @type {string} */ name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** One turn, followed as it comes. */
class Following {
  /** @type {import("../dist/gen/quizglass/v1/session_pb.js").TurnUpdate[]} */
  updates = [];
  /** @type {any} */
  error;
  over = false;

  /** @param {Turn} turn */
  constructor(turn) {
    this.turn = turn;
    this.#follow();
  }

  async #follow() {
    try {
      for await (const said of this.turn) if (said.case === "turn") this.updates.push(said.value);
      await this.turn.answer();
    } catch (error) {
      this.error = error;
    }
    this.over = true;
  }

  /** The last word about each segment. */
  get segments() {
    /** @type {{state: Segment_State, text: string}[]} */
    const last = [];
    for (const { index, state, text } of this.updates.flatMap((update) => update.segments)) {
      const before = last[index];
      assert(!before || before.state === Segment_State.DRAFT, "what is confirmed or retracted has changed");
      last[index] = { state, text: text || before?.text || "" };
    }
    return last;
  }

  /** Everything that was told of it, once and in order, and no less. @param {any} expected */
  check(expected) {
    const numbers = this.updates.map((update) => Number(update.event?.seq));
    assert.deepEqual(numbers, numbers.map((_, at) => at + 1));
    if (expected.error) {
      assert.equal(this.error?.name, expected.error, String(this.error));
      assert.equal(this.error.reason, expected.reason ?? this.error.reason);
      assert.equal(this.error.field, expected.field ?? this.error.field);
      return;
    }
    assert.equal(this.error, undefined, String(this.error));
    const kinds = this.updates.map((update) => snake(update.event?.event.case ?? ""));
    const events = kinds.filter((kind, at) => kind !== kinds[at - 1]);
    assert.deepEqual(events, expected.events ?? events);
    const confirmed = this.segments.filter((each) => each.state === Segment_State.CONFIRMED);
    const last = this.updates.at(-1)?.event?.event;
    assert.equal(last?.case, "done");
    assert.equal(last.value.answer, expected.text);
    assert.equal(confirmed.map((each) => each.text).join("").trim(), expected.text);
  }
}

export class Replay {
  /** @type {Record<string, Following>} */
  turns = {};
  /** @type {Record<string, Uint8Array>} */
  frames = {};
  /** @type {string[]} */
  news = [];
  marked = 0;

  /** @param {import("./stage.js").Stage} stage @param {Session} session */
  constructor(stage, session) {
    this.stage = stage;
    this.session = session;
    this.listening = this.#listen();
  }

  async #listen() {
    for await (const news of this.session.news()) {
      if (news.case === "lost") this.news.push("lost");
      if (news.case === "restored") this.news.push(`restored ${Restored[news.restored]}`);
    }
  }

  /** @param {string} name */
  #turn(name) {
    const turn = this.turns[name];
    assert(turn, `nobody asked ${name}`);
    return turn;
  }

  /** @param {any} step */
  async step(step) {
    if (step.stage) await this.stage.do(step.stage);
    else if (step.show) this.frames[step.show] = await this.session.show(await this.stage.picture(step.picture));
    else if (step.drop) this.session.drop(/** @type {Uint8Array} */ (this.frames[step.drop]));
    else if (step.ask) {
      const frame = this.frames[step.frame];
      const turn = this.session.ask(step.question, { ...(frame && { frame }), overlap: step.overlap ?? "interrupt" });
      this.turns[step.ask] = new Following(turn);
    } else if (step.after) {
      const turn = this.#turn(step.after);
      const enough = () => (step.events ? turn.updates.length >= step.events : turn.segments.length >= step.segments);
      await eventually(enough, JSON.stringify(step));
    } else if (step.played) this.#turn(step.played).turn.played(step.segment, step.code_point);
    else if (step.cancel) this.#turn(step.cancel).turn.cancel();
    else if (step.over) await eventually(() => this.#turn(step.over).over, JSON.stringify(step));
    else if (step.hint) this.session.hintReconnect();
    else if (step.links) await eventually(() => this.session.links >= step.links, JSON.stringify(step));
    else if (step.mark === "up") this.marked = await this.stage.do({ up: null });
    else throw new Error(`${JSON.stringify(step)} is no step`);
  }

  /** @param {any} scenario */
  async check(scenario) {
    for (const [name, expected] of Object.entries(scenario.turns)) this.#turn(name).check(expected);
    assert.deepEqual(await this.stage.do({ inferred: null }), scenario.inferred);
    assert.equal(this.session.links, scenario.links ?? this.session.links);
    const up = await this.stage.do({ up: null });
    if (scenario.up_at_most) assert(up - this.marked <= scenario.up_at_most, `${up - this.marked} bytes went up`);
    await this.session.close();
    await this.listening;
    assert.deepEqual(this.news, scenario.news ?? this.news);
  }
}
