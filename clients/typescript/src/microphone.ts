// A browser's microphone, as pieces of 16-bit PCM.

import { invalid } from "./errors.js";

/** Runs beside the page: collects samples and hands them over, 40 ms at a time. */
const WORKLET = `
registerProcessor("quizglass-microphone", class extends AudioWorkletProcessor {
  constructor() { super(); this.samples = new Int16Array(Math.round(sampleRate / 25)); this.count = 0; }
  process([[channel]]) {
    for (const sample of channel ?? []) {
      this.samples[this.count++] = Math.max(-1, Math.min(1, sample)) * 32767;
      if (this.count === this.samples.length) {
        this.port.postMessage(this.samples.slice());
        this.count = 0;
      }
    }
    return true;
  }
});`;

/** An open microphone: iterated, it gives what is said, until it is stopped. */
export interface Microphone extends AsyncIterable<Uint8Array> {
  /** Samples a second, for `Session.say`. */
  readonly rateHz: number;
  /** Record no more, and let the device go; its pieces end. */
  stop(): void;
}

/**
 * Open the microphone, with echo cancellation, so that an answer from the loudspeaker is not taken for the wearer. The browser
 * asks for permission.
 * @throws InvalidRequest there is none, it is not permitted, or the page may not read it; reason of the browser in the text
 */
export async function openMicrophone(): Promise<Microphone> {
  if (!globalThis.navigator?.mediaDevices) {
    throw invalid("audio", "browsers give pages a microphone on localhost or over HTTPS alone");
  }
  let stream: MediaStream;
  try {
    const audio = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    stream = await navigator.mediaDevices.getUserMedia({ audio });
  } catch (error) {
    const name = error instanceof DOMException ? error.name : String(error);
    const told = name === "NotAllowedError" ? "the browser was not permitted to use the microphone" : `no microphone: ${name}`;
    throw invalid("audio", told);
  }
  const context = new AudioContext();
  try {
    return recording(context, stream, await reading(context, stream));
  } catch (error) {
    letGo(context, stream);
    throw invalid("audio", `the page may not read its microphone: ${String(error)}; a Content-Security-Policy has to allow blob: in script-src`);
  }
}

/** What hands over what a microphone hears. */
async function reading(context: AudioContext, stream: MediaStream): Promise<AudioWorkletNode> {
  const module = URL.createObjectURL(new Blob([WORKLET], { type: "text/javascript" }));
  await context.audioWorklet.addModule(module).finally(() => URL.revokeObjectURL(module));
  const node = new AudioWorkletNode(context, "quizglass-microphone", { numberOfOutputs: 0 });
  context.createMediaStreamSource(stream).connect(node);
  return node;
}

function letGo(context: AudioContext, stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
  void context.close().catch(() => undefined);
}

function recording(context: AudioContext, stream: MediaStream, node: AudioWorkletNode): Microphone {
  const waiting: Uint8Array[] = [];
  let [stopped, wake] = [false, (): void => undefined];
  node.port.onmessage = ({ data }: MessageEvent<Int16Array>): void => {
    waiting.push(new Uint8Array(data.buffer));
    wake();
  };
  async function* pieces(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const piece = waiting.shift();
      if (piece) yield piece;
      else if (stopped) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const stop = (): void => {
    stopped = true;
    letGo(context, stream);
    wake();
  };
  for (const track of stream.getTracks()) {
    track.addEventListener("ended", stop); // unplugged, or not permitted any more
    if (track.readyState === "ended") stop(); // already
  }
  return { rateHz: context.sampleRate, stop, [Symbol.asyncIterator]: pieces };
}
