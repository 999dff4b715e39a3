// Changes wait here for the server: sent one after another, in the order in which people made them.

const BUSY = [429, 503];
const WAIT = [0, 401]; // no server, or it wants its token: it is told when it is back

/**
 * @typedef {object} Letter
 * @property {() => Promise<any>} send
 * @property {(() => Promise<any>) | undefined} arrived
 * @property {boolean} tried
 * @property {(answer: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */

export class Outbox {
  /** @param {() => Promise<unknown>} [wait] before a busy server is asked again */
  constructor(wait = () => new Promise((resolve) => { setTimeout(resolve, 1000); })) {
    this.wait = wait;
    /** @type {Letter[]} */
    this.letters = [];
    /** @type {Promise<void> | null} */
    this.sending = null;
  }

  /**
   * Send a change; resolves when the server has it on disk.
   * @template T
   * @param {() => Promise<T>} send throws an error with `status`, 0 if there was no answer
   * @param {() => Promise<T | null>} [arrived] the answer to what was sent before a connection broke, or null
   *   if it did not arrive; asked before it is sent again
   * @returns {Promise<T>}
   */
  deliver(send, arrived) {
    return new Promise((resolve, reject) => {
      this.letters.push({ send, arrived, tried: false, resolve, reject });
      this.flush();
    });
  }

  /** Send what waits, as far as the server takes it; resolves when that is done. */
  flush() {
    this.sending ??= this.sendAll();
    return this.sending;
  }

  async sendAll() {
    await null; // `sending` is set before this can end
    try {
      while (this.letters.length && await this.sendFirst()) { /* the next one */ }
    } finally {
      this.sending = null;
    }
  }

  /** Send the first letter; returns whether the server is there for more. */
  async sendFirst() {
    const letter = this.letters[0];
    try {
      const known = letter.tried ? await letter.arrived?.() ?? null : null;
      const answer = known ?? await letter.send();
      this.letters.shift();
      letter.resolve(answer);
    } catch (error) {
      const status = /** @type {{ status?: number }} */ (error).status ?? -1;
      letter.tried ||= status === 0;
      if (WAIT.includes(status)) return false;
      if (BUSY.includes(status)) {
        await this.wait();
      } else {
        this.letters.shift();
        letter.reject(error);
      }
    }
    return true;
  }
}
