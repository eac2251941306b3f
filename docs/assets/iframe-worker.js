// Browsers start no workers from files: there the search runs in a hidden frame of the page instead. Material for MkDocs
// knows this arrangement by the name IFrameWorker, and awaits what `importScripts` returns.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = (this.inner = frame.contentWindow);
      inner.document.open();
      inner.document.write("<!doctype html><html><head></head><body></body></html>");
      inner.document.close();
      const load = (src) =>
        new Promise((done, failed) => {
          const script = inner.document.createElement("script");
          script.src = src;
          script.onload = done;
          script.onerror = failed;
          inner.document.head.append(script);
        });
      inner.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => load(each)), Promise.resolve());
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(url);
    }

    postMessage(data) {
      this.ready = this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.inner.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
