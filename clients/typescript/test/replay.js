// Carries out a scenario (clients/conformance/README.md) with a session, and compares what came out.

import assert from "node:assert/strict";
import { Segment_State, SpeechStatus_State } from "../dist/gen/quizglass/v1/session_pb.js";
import { Posture, Restored } from "../dist/node.js";

/** @typedef {import("../dist/node.js").Session} Session */
/** @typedef {import("../dist/node.js").Turn} Turn */

const WAIT_MS = 20_000;

/** Wait for a state that no event reports. @param {() => boolean} fits @param {string} what */
export async function eventually(fits, what) {
  for (const late = Date.now() + WAIT_MS; !fits(); await new Promise((resolve) => setTimeout(resolve, 10))) {
    if (Date.now() > late) throw new Error(`waited in vain: ${what}`);
  }
}

/** Tones, of so many hertz for so many seconds, and silence (0 hertz), in pieces of a tenth of a second. @param {[number, number][]} sound */
export function* tenths(sound) {
  const samples = sound.flatMap(([hertz, seconds]) =>
    Array.from({ length: Math.round(seconds * 16_000) }, (_, at) => 8_000 * Math.sin((2 * Math.PI * hertz * at) / 16_000)),
  );
  for (let at = 0; at < samples.length; at += 1600) yield new Uint8Array(Int16Array.from(samples.slice(at, at + 1600)).buffer);
}

/** Sound that counts as a voice. @param {number} seconds */
export const tone = (seconds) => tenths([[220, seconds]]);

const snake = (/** @type {string} */ name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** An object of a scenario as the options of this client. @param {Record<string, any>} given @returns {Record<string, any>} */
export function camel(given) {
  const name = (/** @type {string} */ key) => key.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [name(key), typeof value === "object" ? camel(value) : value]),
  );
}

/** A session's events, as scenarios name them; no others. @param {import("../dist/node.js").News} news */
function named(news) {
  if (news.case === "restored") return `restored ${Restored[news.restored]}`;
  if (news.case === "posture") return `posture ${Posture[news.value.posture]}`;
  return news.case === "lost" || news.case === "forgotten" ? news.case : undefined;
}

/** One turn, followed as it comes. */
class Following {
  /** @type {import("../dist/gen/quizglass/v1/session_pb.js").TurnUpdate[]} */
  updates = [];
  /** @type {number[][]} */
  closer = [];
  /** What was heard. @type {string | undefined} */
  heard;
  /** Bytes of sound, by segment. @type {number[]} */
  sounds = [];
  /** How far a spoken question came, LISTENING left out. @type {string[]} */
  states = [];
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
      for await (const said of this.turn) {
        if (said.case === "turn") this.updates.push(said.value);
        if (said.case === "transcript" && said.value.final) this.heard = said.value.text;
        if (said.case === "speechStatus" && said.value.state !== SpeechStatus_State.LISTENING) {
          this.states.push(/** @type {string} */ (SpeechStatus_State[said.value.state]));
        }
        if (said.case === "speech") {
          this.sounds[said.value.segment] = (this.sounds[said.value.segment] ?? 0) + said.value.data.length;
        }
        for (const { region } of said.case === "needFrame" ? said.value.frames : []) {
          if (region) this.closer.push([region.left, region.top, region.right, region.bottom]);
        }
      }
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

  /** Every event of it, once and in order. @param {any} expected */
  check(expected) {
    assert.equal(this.heard, expected.heard ?? this.heard);
    assert.deepEqual(this.states, expected.states ?? this.states);
    assert.deepEqual(this.sounds, expected.sounds ?? this.sounds);
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
    assert.equal(confirmed.map((each) => each.text).join("").trim(), expected.said ?? expected.text);
    assert.deepEqual(this.closer, expected.closer ?? this.closer);
  }
}

export class Replay {
  /** @type {Record<string, Following>} */
  turns = {};
  /** @type {Record<string, Uint8Array>} */
  frames = {};
  /** @type {string[]} */
  news = [];
  /** @type {import("../dist/gen/quizglass/v1/session_pb.js").Forgotten | undefined} */
  receipt;
  marked = 0;
  /** Ends with the last question of an open microphone. @type {Promise<void> | undefined} */
  microphone;

  /**
   * @param {import("./stage.js").Stage} stage
   * @param {(state?: Uint8Array) => Promise<Session>} open a session, with the dialogue of another one
   * @param {Session} session
   */
  constructor(stage, open, session) {
    this.stage = stage;
    this.open = open;
    this.session = session;
    this.listening = this.#listen();
  }

  async #listen() {
    for await (const news of this.session.news()) {
      const name = named(news);
      if (name) this.news.push(name);
      if (news.case === "forgotten") this.receipt = news.value;
    }
  }

  /** @param {string} name */
  #turn(name) {
    const turn = this.turns[name];
    assert(turn, `${name} was never asked`);
    return turn;
  }

  /** @param {any} step */
  async step(step) {
    if (step.stage) await this.stage.do(step.stage);
    else if (step.show) {
      const { show, picture, ...more } = step;
      this.frames[show] = await this.session.show(await this.stage.picture(picture), more);
    } else if (step.device) this.session.device(step.device);
    else if (step.forget) this.session.forget();
    else if (step.told) {
      const times = () => this.news.filter((each) => each === step.told).length;
      await eventually(() => times() >= (step.times ?? 1), JSON.stringify(step));
    } else if (step.close) await this.session.close();
    else if (step.anew) await this.#anew();
    else if (step.drop) this.session.drop(/** @type {Uint8Array} */ (this.frames[step.drop]));
    else if (step.ask) {
      const frame = this.frames[step.frame];
      const turn = this.session.ask(step.question, { ...(frame && { frame }), overlap: step.overlap ?? "interrupt" });
      this.turns[step.ask] = new Following(turn);
    } else if (step.say && step.opus) {
      const packets = (await this.stage.do({ opus: step.opus })).map((/** @type {string} */ each) => Buffer.from(each, "base64"));
      this.turns[step.say] = new Following(this.session.say(packets, { codec: "opus" }));
    } else if (step.say) {
      const frame = this.frames[step.frame];
      const turn = this.session.say(tenths(step.sound), { endsBySilence: step.ends_by_silence ?? false, ...(frame && { frame }) });
      this.turns[step.say] = new Following(turn);
    } else if (step.listen) {
      this.microphone = this.#hear(step);
      if (!step.beside) await this.microphone;
    } else if (step.after) {
      const came = (/** @type {Following | undefined} */ turn) =>
        step.states ? turn?.states.length : step.events ? turn?.updates.length : turn?.segments.length;
      const enough = () => (came(this.turns[step.after]) ?? 0) >= (step.states ?? step.events ?? step.segments);
      await eventually(enough, JSON.stringify(step));
    } else if (step.played) this.#turn(step.played).turn.played(step.segment, step.code_point);
    else if (step.cancel) this.#turn(step.cancel).turn.cancel();
    else if (step.over) await eventually(() => this.#turn(step.over).over, JSON.stringify(step));
    else if (step.hint) this.session.hintReconnect();
    else if (step.links) await eventually(() => this.session.links >= step.links, JSON.stringify(step));
    else if (step.mark === "up") this.marked = await this.stage.do({ up: null });
    else throw new Error(`${JSON.stringify(step)} is no step`);
  }

  /** Open a microphone, and follow its turns by these names; what comes after them is nothing. @param {any} step */
  async #hear({ listen, sound, over, pauses = false, overlap = "interrupt" }) {
    const played = over && this.#turn(over).turn;
    function* microphone() {
      let at = 0;
      for (const piece of tenths(sound)) {
        played?.playing(at++ / 10);
        yield piece;
      }
    }
    const names = [...listen];
    for await (const turn of this.session.listen(microphone(), { pauses, overlap })) {
      const following = new Following(turn);
      const name = names.shift();
      if (name) this.turns[name] = following;
      else await eventually(() => following.over && following.heard === "", "nothing is heard behind the last question");
    }
  }

  async #anew() {
    await this.session.close();
    await this.listening;
    this.session = await this.open(this.session.state);
    this.listening = this.#listen();
  }

  /** @param {any} scenario */
  async check(scenario) {
    for (const [name, expected] of Object.entries(scenario.turns)) this.#turn(name).check(expected);
    assert.deepEqual(await this.stage.do({ inferred: null }), scenario.inferred);
    const seen = await this.stage.do({ seen: null });
    assert.deepEqual(seen, scenario.seen ?? seen);
    const sounds = await this.stage.do({ sounds: null });
    assert.deepEqual(sounds, scenario.sounds ?? sounds);
    assert.equal(this.session.links, scenario.links ?? this.session.links);
    const up = await this.stage.do({ up: null });
    await this.microphone;
    if (scenario.up_at_most) assert(up - this.marked <= scenario.up_at_most, `${up - this.marked} bytes went up`);
    await this.session.close();
    await this.listening;
    assert.deepEqual(this.news, scenario.news ?? this.news);
    for (const [name, count] of Object.entries(scenario.forgotten ?? {})) {
      assert.equal(/** @type {any} */ (this.receipt)?.[name], count, name);
    }
  }
}
