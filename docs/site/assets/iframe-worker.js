/*
 * A Worker for pages that are read from files, where browsers start none: its script runs in
 * a hidden frame.  The theme's search looks for this name, and needs of a Worker what is here.
 */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.early = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html>";
      this.frame.addEventListener("load", () => this.start(url), { once: true });
      document.body.append(this.frame);
    }

    start(url) {
      const inside = this.frame.contentWindow;
      const script = inside.document.createElement("script");

      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      script.src = url;
      script.addEventListener("load", () => {
        this.postMessage = (data) => inside.dispatchEvent(new MessageEvent("message", { data }));
        this.early.forEach((data) => this.postMessage(data));
      });
      inside.document.body.append(script);
    }

    /* Until the script runs. */
    postMessage(data) {
      this.early.push(data);
    }
  };
  window.Worker = window.IFrameWorker;
}
