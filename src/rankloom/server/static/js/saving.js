// The one way in which the page changes something on the server. A change may be shown at once, is taken back
// if the server refuses it, and is said to be done only when the server has it.

import { messageOf, toast } from "./dom.js";
import { Outbox } from "./outbox.js";

/** @import { Change } from "./types.js" */
/**
 * @template T
 * @typedef {object} Steps
 * @property {() => () => void} [show] shows the change at once; returns what takes it back
 * @property {(answer: T) => unknown} [done] runs once the server has the change
 * @property {(reason: string) => string} [refused] the line that says why it was refused
 * @property {boolean} [waits] whether it waits for a server that is away, behind earlier changes
 * @property {() => Promise<T | null>} [arrived] as for `Outbox.deliver`
 */

export class Saving {
  /** @param {{ complain?: (text: string) => void, outbox?: Outbox }} [parts] */
  constructor({ complain = (text) => toast(text, "bad"), outbox = new Outbox() } = {}) {
    this.complain = complain;
    this.outbox = outbox;
    /** How many changes the server does not have yet. */
    this.unsent = 0;
    /** @type {(unsent: number) => void} */
    this.changed = () => {};
    /** @type {Saving["run"]} */
    this.save = (send, steps) => this.run(send, steps);
  }

  /**
   * Send a change; returns whether the server has it.
   * @template T
   * @param {Change<T>} send
   * @param {Steps<T>} [steps]
   */
  async run(send, { show, done, refused = (reason) => reason, waits = false, arrived } = {}) {
    const takeBack = show?.();
    this.count(1);
    let answer;
    try {
      answer = await (waits ? this.outbox.deliver(send, arrived) : send());
    } catch (error) {
      takeBack?.();
      this.complain(refused(messageOf(error)));
      return false;
    } finally {
      this.count(-1);
    }
    try {
      await done?.(answer);
    } catch (error) { // the change is saved; what could not be loaded afterwards is said
      this.complain(messageOf(error));
    }
    return true;
  }

  /** @param {1 | -1} step */
  count(step) {
    this.unsent += step;
    this.changed(this.unsent);
  }

  /** Send what waits; resolves when the server has taken what it takes. */
  flush() { return this.outbox.flush(); }
}

/** That of this page. */
export const saving = new Saving();
export const save = saving.save;
