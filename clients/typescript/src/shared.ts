// What both entries export.

export * from "./errors.js";
export { Opened_Restored as Restored, PostureChange_Posture as Posture } from "./gen/quizglass/v1/session_pb.js";
export type { Link, Transport } from "./link.js";
export type { OutputProfile, SessionOptions } from "./options.js";
export type { Cutter, Part, PictureCodec, Region } from "./pictures.js";
export { type AskOptions, type Device, type ListenOptions, type News, type SayOptions, Session, type ShowOptions } from "./session.js";
export { type Answer, type ServerSaid, Turn, type TurnSaid } from "./turn.js";
