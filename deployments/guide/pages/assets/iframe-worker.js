// Search runs in a worker, which browsers refuse to pages that are opened from a disk.
// There a hidden frame does its work; through a server nothing is changed.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #loaded;

    constructor(address) {
      super();
      this.#frame.hidden = true;
      this.#frame.title = "search";
      document.body.append(this.#frame);
      const inside = this.#frame.contentDocument;
      inside.open();
      inside.write('<script>var postMessage = data => frameElement.answer(data)</script>');
      this.#frame.answer = data => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.createElement("script");
      this.#loaded = new Promise(resolve => { script.onload = resolve; });
      script.src = address;
      inside.head.append(script);
      inside.close();
    }

    async postMessage(data) {
      await this.#loaded;
      const { contentWindow } = this.#frame;
      contentWindow.dispatchEvent(new contentWindow.MessageEvent("message", { data }));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
