// Errors made of the status with which a server, or a proxy before it, ends a link.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { create, toBinary } from "@bufbuild/protobuf";
import { ServerMessageSchema, SessionService } from "../dist/gen/quizglass/v1/session_pb.js";
import { openSession } from "../dist/node.js";

/** @typedef {import("@grpc/grpc-js").ServerDuplexStream<Buffer, Buffer>} Call */

/** Run a test at the address of a server whose `Converse` is this. @param {(call: Call) => void} converse @param {(target: string) => Promise<void>} run */
async function serving(converse, run) {
  const server = new Server();
  const bytes = (/** @type {Buffer} */ each) => each;
  const method = {
    path: `/${SessionService.typeName}/${SessionService.method.converse.name}`,
    requestStream: true,
    responseStream: true,
    ...{ requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes },
  };
  server.addService({ converse: method }, { converse });
  const port = await new Promise((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  try {
    await run(`127.0.0.1:${port}`);
  } finally {
    server.forceShutdown();
  }
}

for (const [what, packed] of /** @type {const} */ ([
  ["no details", Buffer.of(0xff)],
  ["details of which one cannot be read", detailed("ErrorInfo", 0xff)],
])) {
  test(`a status whose details are ${what} is reported unchanged`, async () => {
    const metadata = new Metadata();
    metadata.set("grpc-status-details-bin", packed);
    const refusing = (/** @type {Call} */ call) => void call.emit("error", { code: status.RESOURCE_EXHAUSTED, details: "full", metadata });
    await serving(refusing, async (target) => {
      await assert.rejects(openSession(target), { name: "Overloaded", message: "full", reason: "" });
    });
  });
}

/** A google.rpc.Status whose one detail of that kind has these bytes. @param {string} kind @param {number[]} value */
function detailed(kind, ...value) {
  const field = (/** @type {number} */ number, /** @type {Uint8Array} */ content) =>
    Buffer.concat([Buffer.of(number * 8 + 2, content.length), content]);
  const name = Buffer.from(`type.googleapis.com/google.rpc.${kind}`);
  return field(3, Buffer.concat([field(1, name), field(2, Buffer.of(...value))]));
}

test("a message as large as the other clients take is taken", async () => {
  const limits = { pingUs: 3_600_000_000n, progressUs: 3_600_000_000n };
  const advice = "x".repeat(5 * 1024 * 1024);
  const said = [
    { case: "opened", value: { sessionId: "one", limits } },
    { case: "frameStatus", value: { advice } },
  ].map((message, seq) => create(ServerMessageSchema, { seq: BigInt(seq), message: /** @type {any} */ (message) }));
  const talking = (/** @type {Call} */ call) => {
    for (const each of said) call.write(Buffer.from(toBinary(ServerMessageSchema, each)));
    call.on("data", () => {}).on("end", () => call.end());
  };
  await serving(talking, async (target) => {
    const session = await openSession(target);
    const { value: news } = await session.news().next();
    assert(news?.case === "frameStatus", news?.case);
    assert.equal(news.value.advice.length, advice.length);
    await session.close();
  });
});
