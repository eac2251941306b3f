// How a session judges its links, over a transport that never answers: nothing here waits for a network.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { ServerMessageSchema } from "../dist/gen/quizglass/v1/session_pb.js";
import { Overloaded, Session, Status } from "../dist/node.js";
import { eventually } from "./replay.js";

const HOUR = 3_600_000_000n;

/** A link that says so many of these messages, and then nothing, until it is closed. */
class QuietLink {
  /** @type {string[]} */
  sent = [];
  closed = false;
  /** @type {(end: IteratorResult<any>) => void} */
  #end = () => {};

  /** @param {import("../dist/gen/quizglass/v1/session_pb.js").ServerMessage[]} messages */
  constructor(messages) {
    const said = messages[Symbol.iterator]();
    this.messages = {
      next: async () => {
        const next = said.next();
        return next.done ? new Promise((resolve) => (this.#end = resolve)) : next;
      },
    };
  }

  /** @param {readonly import("../dist/gen/quizglass/v1/session_pb.js").ClientMessage[]} messages */
  async send(messages) {
    for (const each of messages) this.sent.push(each.message.case ?? "");
  }

  close() {
    this.closed = true;
    this.#end({ done: true, value: undefined });
  }
}

/** The links of a session, whose server opens so many of them. @param {bigint} pingUs @param {bigint} progressUs */
function quiet(pingUs, progressUs, opened = Infinity) {
  const value = { sessionId: "one", limits: { pingUs, progressUs } };
  /** @type {QuietLink[]} */
  const links = [];
  const open = async () => {
    const opens = links.length < opened ? [create(ServerMessageSchema, { message: { case: "opened", value } })] : [];
    links.push(new QuietLink(opens));
    return /** @type {QuietLink} */ (links.at(-1));
  };
  return { links, transport: { target: "nowhere", open } };
}

test("a hint ends a silent link that was asked before and has time to answer left", async () => {
  const { links, transport } = quiet(200_000n, HOUR);
  const session = await Session.open(transport);
  session.ask("What?");
  await eventually(() => links[0]?.sent.includes("ping") ?? false, "a ping");
  session.hintReconnect();
  await eventually(() => links.length > 1, "a new link");
  assert(links[0]?.closed);
  await session.close();
});

test("a hint ends an attempt that is not answered, and has the next one begun", async () => {
  const { links, transport } = quiet(HOUR, HOUR, 1);
  const session = await Session.open(transport, { connectTimeoutMs: 3_600_000 });
  links[0]?.close();
  await eventually(() => links.length > 1, "another attempt");
  session.hintReconnect();
  await eventually(() => links.length > 2, "the next attempt");
  assert(links[1]?.closed);
  await session.close();
});

test("a hint ends an attempt that has no connection, whose link is closed when it comes after all", async () => {
  const { links, transport } = quiet(HOUR, HOUR);
  /** @type {(() => void)[]} */
  const connect = [];
  const slow = async () => {
    if (links.length) await new Promise((resolve) => connect.push(() => resolve(undefined)));
    return transport.open();
  };
  const session = await Session.open({ ...transport, open: slow });
  links[0]?.close();
  await eventually(() => connect.length > 0, "another attempt");
  session.hintReconnect();
  await eventually(() => connect.length > 1, "the next attempt");
  connect[1]?.();
  await eventually(() => session.links > 1, "a link");
  connect[0]?.();
  await eventually(() => links.length > 2 && (links[2]?.closed ?? false), "the end of the link that came too late");
  assert.deepEqual([links[1]?.closed, session.links], [false, 2]);
  await session.close();
});

test("connecting and opening have one time together", { timeout: 60_000 }, async () => {
  const { links, transport } = quiet(HOUR, HOUR, 0);
  let now = 0;
  mock.method(performance, "now", () => now);
  const slow = async () => {
    now += 3_600_000;
    return transport.open();
  };
  const opening = Session.open({ ...transport, open: slow }, { connectTimeoutMs: 3_600_000 });
  await assert.rejects(opening, { name: "ServerUnavailable", message: "nowhere does not answer within 3600 s" });
  mock.restoreAll();
  assert(links[0]?.closed);
});

test("a session that is closed while its link is opened does not wait", async () => {
  const { links, transport } = quiet(HOUR, HOUR, 1);
  const session = await Session.open(transport, { connectTimeoutMs: 3_600_000 });
  links[0]?.close();
  await eventually(() => links.length > 1, "another attempt");
  mock.timers.enable({ apis: ["setTimeout"] });
  await session.close();
  mock.timers.reset();
  assert(links[1]?.closed);
});

test("a question while a session is being closed blocks no other work, and ends with it", async () => {
  const { links, transport } = quiet(HOUR, HOUR);
  const session = await Session.open(transport);
  const closing = session.close();
  const late = session.answer("Too late?");
  await assert.rejects(late, { name: "Cancelled", reason: "CLOSED" });
  await closing;
  assert.deepEqual([links[0]?.closed, links.length], [true, 1]);
});

/** A transport whose links are opened, and end at once. */
function brief() {
  const { links, transport } = quiet(HOUR, HOUR);
  const open = async () => {
    const link = await transport.open();
    setImmediate(() => link.close());
    return link;
  };
  return { links, transport: { ...transport, open } };
}

test("a picture that is being prepared when the session forgets is not sent", async () => {
  const { links, transport } = quiet(HOUR, HOUR);
  /** @type {(() => void)[]} */
  const ready = [];
  const fit = (/** @type {Uint8Array} */ picture) =>
    new Promise((/** @type {(fitting: Uint8Array) => void} */ resolve) => ready.push(() => resolve(picture)));
  const session = await Session.open(transport, { pictures: { fit, cut: fit } });
  const showing = [session.show(Uint8Array.of(1)), session.show(Uint8Array.of(2), { thumbnail: 9 })];
  const full = session.show(Uint8Array.of(3), { full: Uint8Array.of(3, 3) }); // its name is being computed
  session.forget();
  for (const each of ready) each();
  const told = { name: "Cancelled", reason: "FORGOTTEN" };
  await Promise.all([...showing, full].map((each) => assert.rejects(each, told)));
  const later = session.show(Uint8Array.of(4));
  ready.at(-1)?.();
  await later;
  session.hintReconnect(); // is followed by a ping
  await eventually(() => links[0]?.sent.includes("ping") ?? false, "a ping");
  assert.deepEqual(links[0]?.sent, ["forget", "frameBegin", "ping"]);
  await session.close();
});

test("links that bring nothing and break are not made without a pause", async () => {
  const { links, transport } = brief();
  const session = await Session.open(transport, { patienceMs: 300 });
  await assert.rejects(session.answer("What?"), { name: "ServerUnavailable", message: /^no link for 0\.3 s: the server ended it/ });
  assert(links.length <= 5);
});

test("a server that asks to be left alone for longer than there is patience is left alone", async () => {
  const { links, transport } = brief();
  const full = new Overloaded("full", Status.RESOURCE_EXHAUSTED, { retryAfterMs: 3_600_000 });
  const open = async () => (links.length ? Promise.reject(full) : transport.open());
  const session = await Session.open({ ...transport, open }, { patienceMs: 600_000 });
  await assert.rejects(session.answer("What?"), { name: "ServerUnavailable", message: "no link for 600 s: full" });
  assert.equal(session.links, 1);
});

test("a question waits for no pause between attempts", { timeout: 60_000 }, async () => {
  const { transport } = brief();
  const session = await Session.open(transport); // the pauses alone would be longer than the test
  for await (const news of session.news()) {
    if (news.case === "lost") session.ask("And now?");
    if (session.links > 30) break;
  }
  await session.close();
});
