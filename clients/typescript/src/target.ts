// Where a server is, as gRPC has it: "host:port", "[host]:port", or with a scheme, "unix:path"; and what may go there.

import { invalid } from "./errors.js";

const SCHEMES = /^(unix|dns|ipv4|ipv6):/;
const MOST_PORT = 65_535;
const HOST_PORT = /^(\[[^\]]+\]|[^:/[\]]+):\d+$/;

/** See that a target can be an address: gRPC would look for a host of that name, in vain. @throws InvalidRequest it is none */
export function checkTarget(target: string): void {
  if (SCHEMES.test(target)) return;
  if (HOST_PORT.test(target)) {
    const port = target.slice(target.lastIndexOf(":") + 1);
    if (Number(port) > 0 && Number(port) <= MOST_PORT) return;
    throw invalid("target", `${port.slice(0, 20)} is no port; give one from 1 to ${MOST_PORT}`);
  }
  const advice = "give HOST:PORT of the gRPC port, such as 127.0.0.1:50061; http://… is the page's address";
  throw invalid("target", `"${target}" is no address; ${advice}`);
}

/** Whether a target is on this machine. */
export function isLocal(target: string): boolean {
  if (target.startsWith("unix:")) return true;
  const host = target.replace(/^dns:\/*/, "").replace(/:\d+$/, "");
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * The header of a token.
 * @param field where it is from, for errors
 * @throws InvalidRequest it is none, or would leave this machine in clear
 */
export function authorization(token: string, target: string, safe: boolean, field = "token"): string {
  if (!/^[!-~]+$/.test(token)) throw invalid(field, "is no token, which is printable ASCII without spaces");
  if (!safe) throw invalid(field, `would go to ${target} in clear; connect over TLS`);
  return `Bearer ${token}`;
}
