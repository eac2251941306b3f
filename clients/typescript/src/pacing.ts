// How many bytes of a frame are on their way at once: as many as the link carries while other messages do not wait.

/** Bytes on their way at once, at least and at most. */
const [LEAST, MOST] = [8 * 1024, 1024 * 1024];
/** Bytes of one piece, at most: it is on its way as a whole. */
const PART = 32 * 1024;
const START = LEAST;
/** What is tried beyond what has fitted. */
const MORE = 4 * 1024;
/** What others may wait behind what is on its way, in milliseconds, beyond the round trip of an empty link. */
const QUEUE_MS = 100;

/**
 * Bytes that may be on their way, told by how long the answers to pings take which follow each piece: what was on its way when
 * a piece was sent has arrived when its ping is answered, which tells what the link carries.
 */
export class Window {
  #size = START;
  #sent = 0;
  #arrived = 0;
  /** Where pieces ended: bytes sent up to there, how many of them were on their way then, and when. */
  #marks: { sent: number; underWay: number; at: number }[] = [];
  #fastest = Infinity;

  /** Bytes that may be sent now. */
  get room(): number {
    return Math.max(0, Math.floor(this.#size) - (this.#sent - this.#arrived));
  }

  /** Bytes that the next piece may have at most. */
  get piece(): number {
    return Math.min(PART, Math.floor(this.#size / 2));
  }

  /** So many bytes were sent, at a time in milliseconds; what the ping after them is to carry. */
  sent(size: number, at: number): Uint8Array {
    this.#sent += size;
    this.#marks.push({ sent: this.#sent, underWay: this.#sent - this.#arrived, at });
    const payload = new Uint8Array(8);
    new DataView(payload.buffer).setBigUint64(0, BigInt(this.#sent));
    return payload;
  }

  /** A ping came back, at a time in milliseconds: all that was sent before it has arrived. */
  answered(payload: Uint8Array, at: number): void {
    if (payload.length !== 8) return;
    const arrived = Number(new DataView(payload.buffer, payload.byteOffset, 8).getBigUint64(0));
    let last: { sent: number; underWay: number; at: number } | undefined;
    while (this.#marks[0] && this.#marks[0].sent <= arrived) last = this.#marks.shift();
    if (!last) return;
    this.#arrived = last.sent;
    const took = at - last.at;
    this.#fastest = Math.min(this.#fastest, took);
    const longest = this.#fastest + QUEUE_MS;
    const fits = (last.underWay * longest) / Math.max(took, 1e-3);
    if (took > longest) {
      this.#size = Math.max(fits, this.#size / 2, LEAST);
    } else if (4 * last.underWay >= this.#size) {
      // Else it was not this window that held back.
      this.#size = Math.min(Math.max(fits, this.#size + MORE), 2 * this.#size, MOST);
    }
  }
}
