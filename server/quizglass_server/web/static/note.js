// Adds what the picture shows to the notes, with what its owner knows of it.

import { CallError, call, stream } from "./connect.js";
import { base64 } from "./picture.js";
import { byId, made } from "./view.js";

/** Names the entry of a picture as `quizglass knowledge add` does: the same picture again changes its entry. */
const BEGINNING = "photo-";
const DIGITS = 12;

/**
 * Have the form of the page add notes.
 * @param {() => Blob | null} picture that is shown now
 * @param {() => void} changed called when the notes are others
 */
export function listenForNotes(picture, changed) {
  byId("note").addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    byId("add").disabled = true;
    tell();
    try {
      tell(...(await added(picture(), changed)));
      byId("note").reset();
    } catch (error) {
      tell(error instanceof CallError ? `It was not added: ${error.message}` : "It was not added: the server does not answer.");
    } finally {
      byId("add").disabled = false;
    }
  });
}

/** @param {Blob | null} picture @param {() => void} changed @returns {Promise<(Node | string)[]>} what came of it, in words */
async function added(picture, changed) {
  const digest = picture && (await sha256(picture));
  const id = digest ? BEGINNING + hexadecimal(digest).slice(0, DIGITS) : `note-${Math.random().toString(16).slice(2, 2 + DIGITS)}`;
  const before = await call("KnowledgeService/GetEntry", { id }).then((found) => found.entry, missing);
  const pictures = await Promise.all((before?.pictureSha256 ?? []).map(stored));
  const encoded = picture && (await base64(picture));
  if (encoded && !pictures.includes(encoded)) pictures.push(encoded);
  const title = byId("note-title").value.trim();
  const text = byId("note-text").value.trim() || before?.text || "";
  const { pictureSha256, ...kept } = before ?? {};
  for await (const report of stream("KnowledgeService/AddEntries", { entry: { ...kept, id, title, text, pictures } }, new AbortController().signal))
    for (const refused of report.refused ?? []) throw new CallError({ message: `${refused.field}: ${refused.message}` });
  changed();
  if (before) return [`Your note “${before.title}” about this picture was changed.`];
  return [`“${title}” is among your notes now. `, undo(id, title, changed)];
}

/** @param {string} id @param {string} title @param {() => void} changed */
function undo(id, title, changed) {
  const button = made("button", "plain", "Take it back");
  button.setAttribute("type", "button");
  button.addEventListener("click", async () => {
    try {
      await call("KnowledgeService/DeleteEntry", { id });
      changed();
      tell(`“${title}” was taken back.`);
    } catch (error) {
      tell(`It was not taken back: ${error instanceof CallError ? error.message : "the server does not answer."}`);
    }
  });
  return button;
}

/** @param {any} error @returns {null} where there is no such entry */
function missing(error) {
  if (error instanceof CallError && error.code === "not_found") return null;
  throw error;
}

/** @param {string} digest in base64 @returns {Promise<string>} the picture, in base64 */
async function stored(digest) {
  return (await call("KnowledgeService/GetPicture", { sha256: digest })).encoded;
}

/** Its digest; nothing where the browser makes none, in a page that is neither on localhost nor over HTTPS. @param {Blob} blob */
async function sha256(blob) {
  return globalThis.crypto?.subtle ? new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer())) : null;
}

/** @param {Uint8Array} bytes */
function hexadecimal(bytes) {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {...(Node | string)} words */
function tell(...words) {
  byId("note-outcome").replaceChildren(...words);
}
