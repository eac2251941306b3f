/** Something that others wait for to change. */
export class Change {
  #waiting = new Set<() => void>();

  /** It has changed: whoever waits goes on. */
  tell(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Wait for the next change; whether it came within so many milliseconds. */
  next(ms = Infinity): Promise<boolean> {
    return new Promise((resolve) => {
      const wake = (): void => end(true);
      const timer = ms === Infinity ? undefined : setTimeout(() => end(false), Math.max(0, ms));
      const end = (changed: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve(changed);
      };
      this.#waiting.add(wake);
    });
  }
}

/** The result of work, unless so many milliseconds pass before, which raises what `late` gives. */
export async function within<Result>(work: Promise<Result>, ms: number, late: () => Error): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
