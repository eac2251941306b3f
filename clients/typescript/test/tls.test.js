// A session over TLS, with what a proxy before the server asks for.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { ClientMessageSchema, ServerMessageSchema } from "../dist/gen/quizglass/v1/session_pb.js";
import { ConnectTransport } from "../dist/browser.js";
import * as node from "../dist/node.js";

const server = new grpc.Server();
/** @type {grpc.MetadataValue[]} */
const tokens = [];
/** @type {Buffer} */
let trusted;
let target = "";

/** Opens every session, and ends it when it is closed. @param {grpc.ServerDuplexStream<any, any>} call */
function converse(call) {
  tokens.push(...call.metadata.get("authorization"));
  const limits = { pingUs: 3_600_000_000n, progressUs: 3_600_000_000n };
  call.write(create(ServerMessageSchema, { message: { case: "opened", value: { sessionId: "one", limits } } }));
  call.on("data", (said) => void (said.message.case === "close" && call.end()));
}

before(async () => {
  const folder = mkdtempSync(join(tmpdir(), "quizglass-"));
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"];
  const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  execFileSync("openssl", ["req", ...kind, ...name, "-keyout", key, "-out", certificate], { stdio: "pipe" });
  trusted = readFileSync(certificate);
  const pair = { private_key: readFileSync(key), cert_chain: trusted };
  rmSync(folder, { recursive: true });
  const service = {
    Converse: {
      path: "/quizglass.v1.SessionService/Converse",
      requestStream: true,
      responseStream: true,
      requestSerialize: (/** @type {any} */ said) => Buffer.from(toBinary(ClientMessageSchema, said)),
      requestDeserialize: (/** @type {Buffer} */ bytes) => fromBinary(ClientMessageSchema, bytes),
      responseSerialize: (/** @type {any} */ said) => Buffer.from(toBinary(ServerMessageSchema, said)),
      responseDeserialize: (/** @type {Buffer} */ bytes) => fromBinary(ServerMessageSchema, bytes),
    },
  };
  server.addService(service, { Converse: converse });
  const port = await new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createSsl(null, [pair]);
    server.bindAsync("localhost:0", credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  target = `localhost:${port}`;
});
after(() => server.forceShutdown());

test("a session goes over TLS, with a token", async () => {
  const credentials = grpc.credentials.createSsl(trusted);
  const session = await node.openSession(target, { credentials, metadata: { authorization: "Bearer secret" } });
  await session.close();
  assert.deepEqual(tokens, ["Bearer secret"]);
});

test("a token and the certificates that are trusted are enough", async () => {
  tokens.length = 0;
  await (await node.openSession(target, { ca: trusted, token: "secret" })).close();
  assert.deepEqual(tokens, ["Bearer secret"]);
});

test("a token is not sent in clear beyond this machine, nor one that is none", async () => {
  const clear = { name: "InvalidRequest", field: "token", message: "token: would go to 192.0.2.7:1 in clear; connect over TLS" };
  await assert.rejects(node.openSession("192.0.2.7:1", { token: "secret" }), clear);
  assert.throws(() => new ConnectTransport("http://192.0.2.7:1", { token: "secret" }), { field: "token", message: /in clear/ });
  for (const token of ["", "two words", "secret\n"]) {
    const none = { name: "InvalidRequest", field: "token", message: /^token: is no token/ };
    await assert.rejects(node.openSession(target, { ca: trusted, token }), none);
  }
  for (const url of ["https://192.0.2.7:1", "http://localhost", "http://127.0.0.1:1", "http://[::1]:1"]) {
    assert.ok(new ConnectTransport(url, { token: "secret" }));
  }
});

test("a token is read from a file that is named, or that the environment names", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quizglass-"));
  const [file, other, empty] = [join(folder, "token"), join(folder, "other"), join(folder, "empty")];
  writeFileSync(file, "secret\n");
  writeFileSync(other, "another");
  writeFileSync(empty, "\n");
  const opened = async (/** @type {object} */ access) => {
    tokens.length = 0;
    await (await node.openSession(target, { ca: trusted, ...access })).close();
    return tokens;
  };
  const none = (/** @type {string} */ field) => ({ name: "InvalidRequest", field });
  try {
    assert.deepEqual(await opened({ tokenFile: file }), ["Bearer secret"]);
    process.env["QUIZGLASS_TOKEN_FILE"] = other;
    assert.deepEqual(await opened({}), ["Bearer another"]);
    assert.deepEqual(await opened({ tokenFile: file }), ["Bearer secret"]);
    assert.deepEqual(await opened({ token: "given" }), ["Bearer given"]);
    assert.deepEqual(await opened({ metadata: { Authorization: "Basic mine" } }), ["Basic mine"]);
    await assert.rejects(node.openSession("192.0.2.7:1"), none("QUIZGLASS_TOKEN_FILE"));
    process.env["QUIZGLASS_TOKEN_FILE"] = join(folder, "absent");
    await assert.rejects(node.openSession(target), { ...none("QUIZGLASS_TOKEN_FILE"), message: /absent cannot be read \(ENOENT\)$/ });
    await assert.rejects(node.openSession(target, { tokenFile: empty }), none("tokenFile"));
    await assert.rejects(node.openSession(target, { tokenFile: file, token: "secret" }), none("token"));
  } finally {
    delete process.env["QUIZGLASS_TOKEN_FILE"];
    rmSync(folder, { recursive: true });
  }
});

test("another token in the file is taken up by the next link, and none that is not whole", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quizglass-"));
  const file = join(folder, "token");
  writeFileSync(file, "secret\n");
  tokens.length = 0;
  try {
    const transport = new node.GrpcTransport(target, { ca: trusted, tokenFile: file });
    for (const text of ["", "another\n", "two words"]) {
      writeFileSync(file, text);
      await (await node.Session.open(transport)).close();
    }
    rmSync(file);
    await (await node.Session.open(transport)).close();
  } finally {
    rmSync(folder, { recursive: true });
  }
  assert.deepEqual(tokens, ["secret", "another", "another", "another"].map((each) => `Bearer ${each}`));
});

test("a certificate that is not trusted is reported", async () => {
  await assert.rejects(node.openSession(target, { credentials: grpc.credentials.createSsl(), connectTimeoutMs: 60_000 }), {
    name: "ServerUnavailable",
    message: /^nothing answers at .* with a certificate that is trusted$/,
  });
});

test("metadata that cannot be sent is refused at once, and its value not told", async () => {
  for (const metadata of [{ authorization: "Bearer secret\n" }, { "a secret": "b" }, { "token-bin": "secret" }]) {
    const told = { name: "InvalidRequest", field: "metadata", message: /^metadata: "[^"]+" cannot be sent: .*line break$/ };
    await assert.rejects(node.openSession(target, { metadata }), told);
  }
});
