// Pairing: a device gets its own login for a code that the page of an operator shows.

import { CallError, call, login } from "./connect.js";
import { byId } from "./view.js";

/** Redeem the code in the page's address, where there is one; it is spent, and leaves the address. @returns {Promise<string>} what went wrong, if it did */
export async function redeem() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return "";
  history.replaceState(null, "", location.pathname);
  if (!login.possible) return "A code is redeemed over https:// only, and this page is not encrypted.";
  try {
    login.keep((await call("PairingService/RedeemPairing", { code })).token);
    return "";
  } catch (error) {
    return `This device was not paired: ${error instanceof CallError ? error.message : "the server does not answer"}.`;
  }
}

/** Have the form make codes for other devices. */
export function listenForPairing() {
  byId("pair").addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    byId("pair-code").hidden = true;
    byId("pair-outcome").textContent = "";
    const may = [...document.querySelectorAll("#pair-may input:checked")].map((box) => /** @type {HTMLInputElement} */ (box).value);
    try {
      show(await call("PairingService/CreatePairing", { name: byId("pair-name").value.trim(), may, page: location.origin }));
    } catch (error) {
      byId("pair-outcome").textContent = error instanceof CallError ? error.message : "The server does not answer.";
    }
  });
}

/** @param {{code: string, link: string, qrSvg: string, validS: string}} made */
function show(made) {
  byId("qr").src = `data:image/svg+xml;base64,${made.qrSvg}`;
  byId("pair-text").textContent = made.code;
  byId("pair-link").value = made.link;
  byId("pair-code").hidden = false;
  byId("pair-outcome").textContent = `Valid once, for ${Math.round(Number(made.validS) / 60)} minutes.`;
}
