// Uploads a model's file into the S3 prefix of the endpoint, by drag and drop or by choice.

import { json } from "./asking.js";
import { byId, el, setText } from "./dom.js";
import { bytes } from "./format.js";
import { change } from "./session.js";

const ARTIFACT = /\.(tar\.gz|tgz|tar|onnx|json|ubj|model|joblib|pkl|pickle|skops)$/i;

export class UploadForm {
  #form = byId("upload");
  #file = byId("upload-file");
  #endpoint = null;
  #prefix = null;

  /** `uploaded(model)` is called with the name of the new model. */
  constructor(uploaded) {
    this.uploaded = uploaded;
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#file.addEventListener("change", () => this.#put(this.#file.files[0]));
    for (const type of ["dragenter", "dragover"]) {
      this.#form.addEventListener(type, (event) => {
        event.preventDefault();
        this.#form.classList.add("over");
      });
    }
    this.#form.addEventListener("dragleave", () => this.#form.classList.remove("over"));
    this.#form.addEventListener("drop", (event) => {
      event.preventDefault();
      this.#form.classList.remove("over");
      this.#put(event.dataTransfer.files[0]);
    });
  }

  update(endpoint) {
    this.#endpoint = endpoint.name;
    const variant = endpoint.variants.find(({ record }) => record.multi_model);
    const [, bucket, key] = variant?.record.model_data_url.match(/^s3:\/\/([^/]+)\/?(.*)$/) ?? [];
    this.#prefix = bucket === undefined ? null : { bucket, key: key && !key.endsWith("/") ? `${key}/` : key };
    const where = this.#prefix
      ? `It is put below ${variant.record.model_data_url}, and can be invoked at once: nothing is deployed again.`
      : "This endpoint has one model, which an update of the endpoint replaces.";
    setText(byId("upload-where"), where);
    this.#file.disabled = this.#prefix === null;
  }

  async #put(file) {
    const status = byId("uploaded");
    if (file === undefined || this.#prefix === null) return;
    if (!ARTIFACT.test(file.name)) {
      setText(status, `${file.name} is no artifact and no model file that Torpor knows by its name.`);
      return;
    }
    setText(status, `uploading ${file.name}, ${bytes(file.size)}…`);
    try {
      const key = `${this.#prefix.key}${file.name}`.split("/").map(encodeURIComponent).join("/");
      const answer = await change(`/${this.#prefix.bucket}/${key}`, { method: "PUT", body: file });
      if (!answer.ok) throw new Error(reasonIn(await answer.text()) ?? `HTTP ${answer.status}`);
      await this.#renewed(file.name);
      const invoke = el("button", { type: "button", class: "link", onclick: () => this.uploaded(file.name) }, "Invoke it");
      status.replaceChildren(`${file.name} is in S3. `, invoke);
    } catch (error) {
      setText(status, `${file.name} was not uploaded: ${error.message}`);
    }
    this.#file.value = "";
  }

  /** An instance that has an older version of the model reads the new one for its next call. */
  async #renewed(model) {
    await json("reload", { endpoint: this.#endpoint, model }, { method: "POST" });
  }
}

/** The message in S3's error document. */
const reasonIn = (text) => text.match(/<Message>([^<]*)<\/Message>/)?.[1];
