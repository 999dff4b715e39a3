// Marks are sent one after another, in the order in which they were made; what the server did not take waits.

const BUSY = [429, 503];

/**
 * @typedef {object} Letter
 * @property {string} path
 * @property {unknown} body
 * @property {(answer: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */

export class Outbox {
  /**
   * @param {(path: string, body: unknown) => Promise<any>} send throws an error with `status`, 0 if there
   *   was no answer
   * @param {() => Promise<unknown>} [wait] before a busy server is asked again
   */
  constructor(send, wait = () => new Promise((resolve) => { setTimeout(resolve, 1000); })) {
    this.send = send;
    this.wait = wait;
    /** @type {Letter[]} */
    this.letters = [];
    /** @type {Promise<void> | null} */
    this.sending = null;
  }

  /** How many marks the server does not have yet. */
  get size() { return this.letters.length; }

  /**
   * Send a mark, or take one back; resolves when the server has it on disk.
   * @param {string} path
   * @param {unknown} body
   * @returns {Promise<any>}
   */
  deliver(path, body) {
    return new Promise((resolve, reject) => {
      this.letters.push({ path, body, resolve, reject });
      this.flush();
    });
  }

  /** Send what waits, as far as the server takes it; resolves when that is done. */
  flush() {
    this.sending ??= this.sendAll();
    return this.sending;
  }

  async sendAll() {
    while (this.letters.length && await this.sendFirst()) { /* the next one */ }
    this.sending = null;
  }

  /** Whether the server is there for more. */
  async sendFirst() {
    const { path, body, resolve, reject } = this.letters[0];
    try {
      resolve(await this.send(path, body));
      this.letters.shift();
    } catch (error) {
      const status = /** @type {{ status?: number }} */ (error).status ?? -1;
      if (status === 0) return false;
      if (BUSY.includes(status)) {
        await this.wait();
      } else {
        this.letters.shift();
        reject(error);
      }
    }
    return true;
  }
}
