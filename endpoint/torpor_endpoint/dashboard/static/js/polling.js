// Asks for something again and again while its panel is shown, and at once when the question changes.

export class Polling {
  #everyMs;
  #ask;
  #show;
  #fail;
  #question = "";
  #askedMs = -Infinity;
  #busy = false;

  /** `ask(question)` is a promise, whose value `show` gets; `fail` gets its error. */
  constructor({ everyS, ask, show, fail }) {
    this.#everyMs = everyS * 1000;
    this.#ask = ask;
    this.#show = show;
    this.#fail = fail;
  }

  /** The panel is shown, and asks this: a plain object. */
  async update(question) {
    const text = JSON.stringify(question);
    const now = performance.now();
    const due = now - this.#askedMs >= this.#everyMs && !this.#busy;
    if (text === this.#question && !due) return;
    this.#question = text;
    this.#askedMs = now;
    this.#busy = true;
    try {
      const answer = await this.#ask(question);
      if (text === this.#question) this.#show(answer, question);
    } catch (error) {
      if (text === this.#question) this.#fail(error);
    } finally {
      if (text === this.#question) this.#busy = false;
    }
  }
}
