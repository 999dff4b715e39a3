// A dialog that is a step of the history: Back closes it, and closing it takes the step back.

export class Layer {
  /** @param {HTMLDialogElement} dialog @param {() => void} closed called when it has closed */
  constructor(dialog, closed) {
    this.dialog = dialog;
    /** What is done once the dialog is closed and its step taken back. @type {(() => void) | null} */
    this.next = null;
    this.leaving = false;
    addEventListener("popstate", (event) => {
      if (!this.leaving && !dialog.open) return;
      event.stopImmediatePropagation(); // what is behind it stays as it is
      if (!this.leaving) return dialog.close();
      this.leaving = false;
      this.goOn();
    });
    if (history.state?.viewer) history.replaceState(null, "");
    dialog.addEventListener("close", () => {
      closed();
      if (!history.state?.viewer) return this.goOn();
      this.leaving = true;
      history.back();
    });
    /** @type {EventTarget | null} where the last press was: a drag that ends outside is no click there */
    let pressed = null;
    dialog.addEventListener("pointerdown", (event) => { pressed = event.target; });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog && pressed === dialog) dialog.close();
    });
  }

  open() {
    history.pushState({ viewer: true }, "");
    this.dialog.showModal();
  }

  /** Close, and then do something. @param {() => void} action */
  leave(action) {
    this.next = action;
    this.dialog.close();
  }

  goOn() {
    const action = this.next;
    this.next = null;
    action?.();
  }
}
