// The parts that need no server: checksums, pacing, and what is said again over a new link.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { crc32c } from "../dist/crc32c.js";
import { FrameStatus_State, FrameStatusSchema } from "../dist/gen/quizglass/v1/session_pb.js";
import * as browser from "../dist/browser.js";
import * as node from "../dist/node.js";
import { Outgoing } from "../dist/outgoing.js";
import { Window } from "../dist/pacing.js";
import { isLocal } from "../dist/target.js";

test("CRC-32C is that of RFC 3720", () => {
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, at) => at)), 0x46dd794e);
  assert.equal(crc32c(new TextEncoder().encode("123456789")), 0xe3069283);
});

/** A window whose pieces are answered as late as that, all at once, some rounds long. @param {(at: number) => number} late */
function carried(late) {
  const window = new Window();
  for (let at = 0; at < 40; at++) {
    let payload = window.sent(window.piece, at * 1000);
    while (window.room >= window.piece) payload = window.sent(window.piece, at * 1000);
    window.answered(payload, at * 1000 + late(at));
  }
  return window;
}

test("as much is on its way as a fast link carries, and little on a slow one", () => {
  const fast = carried(() => 5);
  const slow = carried((at) => (at ? 900 : 5));
  assert.deepEqual([fast.room, fast.piece], [1024 * 1024, 32 * 1024]);
  assert.deepEqual([slow.room, slow.piece], [8 * 1024, 4 * 1024]);
  assert.equal(fast.sent(1000, 0).length, 8);
  assert.equal(fast.room, 1024 * 1024 - 1000);
});

test("of a link that carries 125 bytes a millisecond, some 100 ms are filled", () => {
  const window = new Window();
  const answers = [];
  let waited = 0;
  for (let now = 0, free = 0; now < 30_000; ) {
    for (; window.room >= window.piece; waited = Math.max(waited, free - now)) {
      free = Math.max(now, free) + window.piece / 125;
      answers.push({ at: free + 1, payload: window.sent(window.piece, now) });
    }
    const { at, payload } = answers.shift() ?? assert.fail("nothing is on its way");
    window.answered(payload, (now = at));
  }
  assert(waited < 200, `a message would have waited for ${waited} ms`);
});

/** @param {Outgoing} outgoing */
const kinds = async (outgoing) => (await outgoing.next(new AbortController().signal)).map((each) => each.message.case);

test("over a new link, what may not have arrived is said again, what was heard before questions", async () => {
  const outgoing = new Outgoing();
  const sha256 = new Uint8Array(32).fill(7);
  outgoing.show(sha256, new Uint8Array(50_000));
  outgoing.say({ case: "ask", value: { id: "one", request: { frames: [{ source: { case: "sha256", value: sha256 } }] } } });
  outgoing.say({ case: "playback", value: { askId: "zero" } });
  outgoing.say({ case: "cancel", value: { askId: "one" } });
  outgoing.say({ case: "ack", value: { seq: 3n } });
  assert.deepEqual(await kinds(outgoing), ["frameBegin", "ask"]);
  assert.deepEqual(await kinds(outgoing), ["playback", "cancel", "ack"]);
  outgoing.again(true);
  assert.deepEqual(await kinds(outgoing), ["frameBegin", "playback", "ask"]);
  assert.deepEqual(await kinds(outgoing), ["cancel"]);
  outgoing.status(create(FrameStatusSchema, { sha256, state: FrameStatus_State.SEND, offset: 49_000n }));
  assert.deepEqual(await kinds(outgoing), ["framePart", "ping"]);
  outgoing.status(create(FrameStatusSchema, { sha256, state: FrameStatus_State.HELD }));
  outgoing.over("one");
  outgoing.again(false);
  outgoing.again(true); // of the new session, whose questions are others
  outgoing.say({ case: "ping", value: {} });
  assert.deepEqual(await kinds(outgoing), ["ping"]);
});

test("a picture is dropped over a new link until the server says so, or it is shown again", async () => {
  const outgoing = new Outgoing();
  const sha256 = new Uint8Array(32);
  outgoing.drop(sha256);
  outgoing.again(true);
  assert.deepEqual(await kinds(outgoing), ["frameDrop"]);
  outgoing.show(sha256, new Uint8Array(10));
  outgoing.again(true);
  assert.deepEqual(await kinds(outgoing), ["frameBegin"]);
  outgoing.drop(sha256);
  outgoing.status(create(FrameStatusSchema, { sha256, state: FrameStatus_State.DROPPED }));
  outgoing.again(true);
  outgoing.say({ case: "ping", value: {} });
  assert.deepEqual(await kinds(outgoing), ["ping"]);
});

test("how the device is, and what is to be forgotten, is said again over a new link, in the order of questions", async () => {
  const outgoing = new Outgoing();
  outgoing.show(new Uint8Array(32), new Uint8Array(10), { pinned: true });
  outgoing.say({ case: "deviceState", value: { batteryPercent: 9 } });
  outgoing.say({ case: "ask", value: { id: "one" } });
  outgoing.say({ case: "forget", value: {} });
  outgoing.say({ case: "ask", value: { id: "two" } });
  outgoing.again(true); // pictures are forgotten here at once
  assert.deepEqual(await kinds(outgoing), ["deviceState", "ask"]);
  assert.deepEqual(await kinds(outgoing), ["forget", "ask"]);
  outgoing.forgotten();
  outgoing.over("one");
  outgoing.again(false);
  assert.deepEqual(await kinds(outgoing), ["deviceState", "ask"]);
});

test("a picture is announced again to a server that has not been told of it, or has let it go", async () => {
  const outgoing = new Outgoing();
  const [sha256, data] = [new Uint8Array(32), new Uint8Array(10)];
  const said = async () => {
    outgoing.show(sha256, data);
    outgoing.say({ case: "ping", value: {} });
    return kinds(outgoing);
  };
  assert.deepEqual(await said(), ["frameBegin", "ping"]);
  assert.deepEqual(await said(), ["ping"]);
  outgoing.status(create(FrameStatusSchema, { sha256, state: FrameStatus_State.DROPPED }));
  assert.deepEqual(await said(), ["frameBegin", "ping"]);
  outgoing.again(false);
  assert.deepEqual(await said(), ["frameBegin", "ping"]);
  outgoing.status(create(FrameStatusSchema, { sha256, state: FrameStatus_State.DROPPED }));
  outgoing.again(true); // no question about it is left
  outgoing.say({ case: "ping", value: {} });
  assert.deepEqual(await kinds(outgoing), ["ping"]);
});

test("a picture goes in pieces, between which other messages pass", async () => {
  const outgoing = new Outgoing();
  const sha256 = new Uint8Array(32);
  outgoing.show(sha256, new Uint8Array(100_000));
  assert.deepEqual(await kinds(outgoing), ["frameBegin"]);
  outgoing.status(create(FrameStatusSchema, { sha256, state: FrameStatus_State.SEND }));
  assert.deepEqual(await kinds(outgoing), ["framePart", "ping"]);
  outgoing.say({ case: "cancel", value: {} });
  assert.deepEqual(await kinds(outgoing), ["cancel", "framePart", "ping"]);
  const ending = new AbortController();
  const waiting = outgoing.next(ending.signal); // the window is full
  ending.abort(new Error("ended"));
  outgoing.say({ case: "cancel", value: {} });
  await assert.rejects(waiting, /ended/);
  assert.deepEqual(await kinds(outgoing), ["cancel"]);
});

test("an invalid address is reported before a connection is tried", async () => {
  for (const target of ["http://127.0.0.1:50062", "localhost", "127.0.0.1", ":50061", "glasses:", "::1", "::1:50061", "h:x", ""]) {
    await assert.rejects(node.openSession(target), {
      name: "InvalidRequest",
      field: "target",
      message: /give HOST:PORT of the gRPC port, such as 127\.0\.0\.1:50061/,
    });
  }
  for (const target of ["[::1]:50061", "unix:/tmp/s", "dns:///glasses:1", "g.example:1"]) new node.GrpcTransport(target);
});

test("only other machines are reached through a proxy", () => {
  const local = ["127.0.0.1:50061", "127.8.8.8:1", "localhost:1", "[::1]:1", "unix:/tmp/s", "dns:///localhost:1"];
  for (const target of local) assert(isLocal(target), target);
  for (const target of ["10.0.0.2:1", "glasses.example:50061", "127.example:1"]) assert(!isLocal(target), target);
});

for (const [name, before, { openSession }] of /** @type {const} */ ([
  ["grpc", "", node],
  ["http", "http://", browser],
])) {
  test(`a missing server is reported at once, over ${name}`, async () => {
    const opening = openSession(`${before}127.0.0.1:1`, { connectTimeoutMs: 20_000 });
    const told = { name: "ServerUnavailable", status: node.Status.UNAVAILABLE, message: /127\.0\.0\.1:1\b/ };
    await assert.rejects(opening, told);
  });

  test(`a peer that never speaks is given up in time, over ${name}`, async () => {
    /** @type {import("node:net").Socket[]} */
    const sockets = [];
    const silent = createServer((socket) => sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (silent.address());
    const opening = openSession(`${before}127.0.0.1:${port}`, { connectTimeoutMs: 300 });
    await assert.rejects(opening, { name: "ServerUnavailable", message: /does not answer within 0\.3 s/ });
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
}

test("what a browser loads asks for nothing of Node", () => {
  const seen = new Set();
  const follow = (/** @type {string} */ path) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const [, name] of readFileSync(new URL(path, import.meta.url), "utf8").matchAll(/(?:from|import) "([^"]+)"/g)) {
      if (name?.startsWith(".")) follow(new URL(name, new URL(path, import.meta.url)).href);
      else assert.match(name ?? "", /^@(bufbuild\/protobuf|connectrpc)/);
    }
  };
  follow(new URL("../dist/browser.js", import.meta.url).href);
  assert(seen.size > 8);
});

test("no module imports one that imports it", () => {
  /** @param {string} path @param {readonly string[]} from */
  const follow = (path, from) => {
    assert(!from.includes(path), [...from, path].join(" imports "));
    const source = readFileSync(new URL(path, import.meta.url), "utf8");
    for (const [, name] of source.matchAll(/from "(\.[^"]+)\.js"/g)) {
      follow(new URL(`${name}.ts`, new URL(path, import.meta.url)).href, [...from, path]);
    }
  };
  for (const entry of ["node", "browser"]) follow(new URL(`../src/${entry}.ts`, import.meta.url).href, []);
});
