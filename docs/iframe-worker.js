/* The search of the site, read from the disk: browsers start no worker from a file, so its script runs in a hidden frame instead.
   The theme's search script looks for this class by its name in the page, and the `offline` plugin for this file by its own. */
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inside = frame.contentWindow;
    this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.inside.importScripts = async (...urls) => { for (const one of urls) await this.run(one); };
    this.started = this.run(url);
  }

  /* Runs a script in the frame. */
  run(url) {
    const script = this.inside.document.createElement("script");
    script.src = url;
    return new Promise((done, failed) => {
      script.onload = done;
      script.onerror = () => failed(new Error(`${url} cannot be read`));
      this.inside.document.body.append(script);
    });
  }

  async postMessage(data) {
    await this.started;
    this.inside.dispatchEvent(new MessageEvent("message", { data }));
  }
}

if (location.protocol === "file:") window.Worker = IFrameWorker;
