// How many bytes of a frame are on their way at once: as many as the link carries while other messages do not wait.

/** Bytes on their way at once, at least and at most. */
const [LEAST, MOST] = [8 * 1024, 1024 * 1024];
/** Bytes of one piece, at most: it is on its way as a whole. */
const PART = 32 * 1024;
const START = 16 * 1024;
/** What others may wait behind what is on its way, in milliseconds, beyond the round trip of an empty link. */
const QUEUE_MS = 100;

/**
 * Bytes that may be on their way, told by how long the answers to pings take which follow each piece. As long as they come as
 * if nothing else were on its way, the window doubles; when they take longer, it is halved.
 */
export class Window {
  #size = START;
  #sent = 0;
  #arrived = 0;
  #marks: { sent: number; at: number }[] = [];
  #fastest = Infinity;

  /** Bytes that may be sent now. */
  get room(): number {
    return Math.max(0, this.#size - (this.#sent - this.#arrived));
  }

  /** Bytes that the next piece may have at most. */
  get piece(): number {
    return Math.min(PART, this.#size / 2);
  }

  /** So many bytes were sent, at a time in milliseconds; what the ping after them is to carry. */
  sent(size: number, at: number): Uint8Array {
    this.#sent += size;
    this.#marks.push({ sent: this.#sent, at });
    const payload = new Uint8Array(8);
    new DataView(payload.buffer).setBigUint64(0, BigInt(this.#sent));
    return payload;
  }

  /** A ping came back, at a time in milliseconds: all that was sent before it has arrived. */
  answered(payload: Uint8Array, at: number): void {
    if (payload.length !== 8) return;
    const arrived = Number(new DataView(payload.buffer, payload.byteOffset, 8).getBigUint64(0));
    let took: number | undefined;
    for (let mark = this.#marks[0]; mark && mark.sent <= arrived; mark = this.#marks[0]) {
      this.#marks.shift();
      this.#arrived = mark.sent;
      took = at - mark.at;
    }
    if (took === undefined) return;
    this.#fastest = Math.min(this.#fastest, took);
    this.#size = took <= this.#fastest + QUEUE_MS ? Math.min(2 * this.#size, MOST) : Math.max(this.#size / 2, LEAST);
  }
}
