// Runs beside the page (AudioWorklet): hands over what the microphone hears, 40 ms at a time, as 16-bit PCM.

const worklet = /** @type {any} */ (globalThis);

worklet.registerProcessor(
  "microphone",
  class extends worklet.AudioWorkletProcessor {
    constructor() {
      super();
      this.samples = new Int16Array(Math.round(worklet.sampleRate / 25));
      this.count = 0;
    }

    /** @param {Float32Array[][]} inputs */
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
  },
);
