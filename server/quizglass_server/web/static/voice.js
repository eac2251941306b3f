// The microphone, and the loudspeaker for answers. Sound is 16-bit PCM.

/** Why there is no microphone here; empty where there may be one. */
export function noMicrophone() {
  return navigator.mediaDevices && globalThis.AudioWorkletNode
    ? ""
    : "Browsers give pages a microphone on this computer or over HTTPS only.";
}

/**
 * Open the microphone; the browser asks whether it may. Iterated, it gives what is said, until it is stopped.
 * @returns {Promise<{rateHz: number, pieces: AsyncGenerator<Uint8Array>, stop: () => void}>}
 */
export async function openMicrophone() {
  const audio = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  const stream = await navigator.mediaDevices.getUserMedia({ audio });
  const context = new AudioContext();
  const letGo = () => {
    for (const track of stream.getTracks()) track.stop();
    context.close().catch(() => {});
  };
  const node = await reading(context, stream).catch((error) => {
    letGo();
    throw error;
  });
  /** @type {Uint8Array[]} */
  const waiting = [];
  let [stopped, wake] = [false, () => {}];
  node.port.onmessage = ({ data }) => {
    waiting.push(new Uint8Array(data.buffer));
    wake();
  };
  async function* pieces() {
    for (;;) {
      const piece = waiting.shift();
      if (piece) yield piece;
      else if (stopped) return;
      else await new Promise((resolve) => (wake = () => resolve(null)));
    }
  }
  const stop = () => {
    if (stopped) return;
    stopped = true;
    letGo();
    wake();
  };
  for (const track of stream.getTracks()) {
    track.addEventListener("ended", stop); // unplugged, or not permitted any more
    if (track.readyState === "ended") stop(); // already
  }
  return { rateHz: context.sampleRate, pieces: pieces(), stop };
}

/** @param {AudioContext} context @param {MediaStream} stream @returns {Promise<AudioWorkletNode>} what hands over what it hears */
async function reading(context, stream) {
  await context.audioWorklet.addModule("/microphone.js");
  const node = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
  context.createMediaStreamSource(stream).connect(node);
  return node;
}

/** Why the microphone cannot be opened, for people. @param {any} error */
export function microphoneTrouble(error) {
  if (error?.name === "NotAllowedError") return "The browser was not permitted to use the microphone. Permit it beside the address of this page, or type your question.";
  if (error?.name === "NotFoundError") return "There is no microphone. Type your question.";
  return `The microphone cannot be opened (${error?.message ?? error}). Type your question.`;
}

/** Plays the sound of one answer after the other. */
export class Loudspeaker {
  /** @type {AudioContext | null} */
  #context = null;
  #until = 0;
  /** When each segment begins. @type {{askId: string, segment: number, at: number}[]} */
  #begins = [];
  /** @type {Set<AudioBufferSourceNode>} */
  #playing = new Set();

  /** Be ready to play: browsers want a click for that. */
  prepare() {
    this.#context ??= new AudioContext();
    this.#context.resume().catch(() => {});
  }

  /** Play a piece after those before. @param {any} speech of the server */
  play(speech) {
    if (!speech.data) return;
    this.prepare();
    const context = /** @type {AudioContext} */ (this.#context);
    const bytes = Uint8Array.from(atob(speech.data), (letter) => letter.charCodeAt(0));
    const channels = speech.channels ?? 1;
    const samples = new Int16Array(bytes.buffer);
    const buffer = context.createBuffer(channels, samples.length / channels, speech.rateHz);
    for (let channel = 0; channel < channels; channel++) {
      const to = buffer.getChannelData(channel);
      for (let at = 0; at < to.length; at++) to[at] = samples[at * channels + channel] / 32768;
    }
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    const at = Math.max(this.#until, context.currentTime);
    const segment = speech.segment ?? 0;
    if (this.#begins.at(-1)?.segment !== segment || this.#begins.at(-1)?.askId !== speech.askId) {
      this.#begins.push({ askId: speech.askId, segment, at });
    }
    source.start(at);
    this.#until = at + buffer.duration;
    this.#playing.add(source);
    source.addEventListener("ended", () => this.#playing.delete(source));
  }

  /** Whether something is heard. */
  get busy() {
    return this.#playing.size > 0;
  }

  /** Be quiet for now, or play on where it was. @param {boolean} paused */
  pause(paused) {
    if (paused) this.#context?.suspend().catch(() => {});
    else this.#context?.resume().catch(() => {});
  }

  /** How far the answer is that is played, as the protocol's `Playing`; undefined: none is. */
  get playing() {
    const context = this.#context;
    const latest = this.#begins.at(-1);
    if (!context || !latest || !this.busy) return undefined;
    const first = /** @type {{at: number}} */ (this.#begins.find((each) => each.askId === latest.askId));
    const atUs = Math.round(1e6 * Math.max(0, context.currentTime - first.at));
    return { askId: latest.askId, atUs: String(atUs), paused: context.state === "suspended" };
  }

  /** Be quiet at once. @returns {{askId: string, segment: number} | null} the segment that was being said */
  stop() {
    const now = this.#context?.currentTime ?? 0;
    const heard = this.busy ? this.#begins.filter((each) => each.at <= now).at(-1) : undefined;
    for (const source of this.#playing) source.stop();
    this.pause(false);
    this.#playing.clear();
    this.#begins = [];
    this.#until = 0;
    return heard ?? null;
  }
}
