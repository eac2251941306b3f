// What both entries export.

export * from "./errors.js";
export { Opened_Restored as Restored } from "./gen/quizglass/v1/session_pb.js";
export type { Link, Transport } from "./link.js";
export type { SessionOptions } from "./keeper.js";
export { type AskOptions, type News, Session } from "./session.js";
export { type Answer, type ServerSaid, Turn, type TurnSaid } from "./turn.js";
