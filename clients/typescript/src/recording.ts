// Where the sound of spoken questions comes from, piece by piece.

/** Pieces of sound as they are recorded, of which some may be read again by the next question. */
export class Recording {
  #ended = false;
  #closed = false;
  #back: Uint8Array[] = [];
  /** Why no more can be read. */
  #failure: { error: unknown } | undefined;
  readonly #pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;

  constructor(audio: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#pieces = Symbol.asyncIterator in audio ? audio[Symbol.asyncIterator]() : audio[Symbol.iterator]();
  }

  /** Whether no more pieces come. */
  get ended(): boolean {
    return this.#ended && !this.#back.length;
  }

  /** The next piece; undefined: there are no more. Throws what the source does, now and later. */
  async next(): Promise<Uint8Array | undefined> {
    const back = this.#back.shift();
    if (back || this.#ended) return back;
    if (this.#failure) throw this.#failure.error;
    try {
      return await this.#read();
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  async #read(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.#pieces.next();
    if (!done && !ArrayBuffer.isView(value)) throw new TypeError(`${typeof value} is no piece of sound`);
    // Theirs may change while it is on its way.
    if (!done) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
    this.#ended = true;
    return undefined;
  }

  /** These pieces were read, and belong to what is spoken next. */
  giveBack(pieces: readonly Uint8Array[]): void {
    if (!this.#closed) this.#back.push(...pieces);
  }

  /** Read no more, and let the source go; one that is being read goes after that. */
  close(): void {
    if (this.#closed) return;
    this.#ended = this.#closed = true;
    this.#back = [];
    Promise.resolve(this.#pieces.return?.()).catch(() => undefined); // nothing of it is wanted any more
  }
}
