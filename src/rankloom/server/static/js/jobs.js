// Long jobs of the server, one at a time: what they are called, how far they are, and how they ended.

import { button, h, put, toast } from "./dom.js";
import { locale, t, tn } from "./i18n.js";
import { reason } from "./reasons.js";
import { save } from "./saving.js";

/** @import { Api, Change, Job, WorkState } from "./types.js" */
/** @import { Work } from "./work.js" */

/**
 * Wait until the job of a name has ended.
 * @param {Pick<Api, "work">} api
 * @param {string} name
 * @param {(job: Job) => void} onStep
 * @returns {Promise<Partial<Job>>}
 */
export async function jobEnd(api, name, onStep = () => {}) {
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, 400); });
    const { job, jobs, waiting } = await api.work();
    if (job?.name === name) onStep(job);
    else if (!waiting.some((other) => other.name === name)) {
      return jobs.find((known) => known.name === name) ?? { error: t("it did not run") };
    }
  }
}

/** What a job does, in words. @param {Job} job */
export function jobTitle({ name, what }) {
  /** @type {Record<string, string>} */
  const titles = {
    index: what ? t("Adding {folder}", { folder: what }) : t("Looking for changes"),
    watch: t("Following changes of files"), neighbours: t("Building the graph of neighbours"),
    train: t("Training a model"), verify: t("Checking the collection"),
    repair: t("Repairing the collection"), restore: t("Going back to a backup"),
    people: t("Grouping faces by person"),
  };
  return Object.hasOwn(titles, name) ? titles[name] : name;
}

/** @param {number | undefined} failed */
const unread = (failed) =>
  (failed ? tn(failed, "{n} file could not be read", "{n} files could not be read") : "");

/** How faces were grouped, or forgotten. @param {Record<string, number>} report */
function peopleOutcome({ groups, failed, left }) {
  if (groups !== undefined) {
    return [tn(groups, "{n} group", "{n} groups"), unread(failed)].filter(Boolean).join(", ");
  }
  return left ? tn(left, "{n} backup could not be cleaned", "{n} backups could not be cleaned")
    : t("switched off");
}

/** How upkeep ended, in a line. @param {string} name @param {Record<string, number>} report */
function upkeepOutcome(name, { problems = 0 }) {
  if (name === "restore") return t("done");
  if (problems) return tn(problems, "{n} thing is damaged.", "{n} things are damaged.");
  return t("everything is in order");
}

/** How a job ended, in a line. @param {Partial<Job>} job */
export function jobOutcome({ name = "", error, cancelled, report, result }) {
  if (error) return reason(error);
  if (report && ["verify", "repair", "restore"].includes(name)) return upkeepOutcome(name, report);
  if (report && name === "people") return peopleOutcome(report);
  if (cancelled) return t("cancelled; what was described is kept");
  if (!report) return result === "ready" || !result ? t("done") : result;
  return [
    tn(report.items, "{n} new item", "{n} new items"),
    report.removed ? tn(report.removed, "{n} file gone", "{n} files gone") : "",
    unread(report.failed),
  ].filter(Boolean).join(", ");
}

/** Seconds as people say them. @param {number} seconds */
export function timeLeft(seconds) {
  if (seconds < 60) return t("less than a minute left");
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return tn(minutes, "about {n} minute left", "about {n} minutes left");
  const hours = Math.round(minutes / 60);
  return tn(hours, "about {n} hour left", "about {n} hours left");
}

/** How far a job is, in a line. @param {Job} job */
export function jobProgress({ done, total, rate, left, failed, paused }) {
  const pace = rate ? t("{rate} a second", {
    rate: rate.toLocaleString(locale, { maximumSignificantDigits: 2 }),
  }) : "";
  return [
    paused ? t("paused") : "", total ? t("{done} of {total}", { done, total }) : "", paused ? "" : pace,
    left && !paused ? timeLeft(left) : "",
    unread(failed),
  ].filter(Boolean).join(" · ");
}

/**
 * The job that runs, with buttons to pause and to cancel it, and those that wait.
 * @param {Work} work
 * @param {Api} api
 * @param {boolean} readOnly
 */
export function jobView(work, api, readOnly) {
  const root = h("div", { class: "jobs" });
  work.watchWith(root, (state) => draw(root, state, work, api, readOnly));
  return root;
}

/**
 * @param {HTMLElement} root
 * @param {WorkState} state
 * @param {Work} work
 * @param {Api} api
 * @param {boolean} readOnly
 */
function draw(root, { job, waiting, unfinished }, work, api, readOnly) {
  const focused = root.contains(document.activeElement)
    ? /** @type {HTMLElement} */ (document.activeElement).dataset.name : undefined;
  /** @param {string} name @param {string} text @param {() => Change<WorkState>} change */
  const named = (name, text, change) => button(text, {
    kind: "small", "data-name": name, onclick: () => save(change(), { done: (state) => work.take(state) }),
  });
  put(root,
    job ? running(job, readOnly ? [] : [
      job.paused ? named("pause", t("Go on"), api.resumeWork) : named("pause", t("Pause"), api.pauseWork),
      named("cancel", t("Cancel"), () => api.cancelWork()),
    ]) : null,
    waiting.length ? h("ul", { class: "waiting" }, waiting.map((other, place) => h("li", {},
      h("span", {}, t("Waiting: {job}", { job: jobTitle(other) })),
      readOnly ? null : named(`take-${place}`, t("Take out"), () => api.cancelWork(place))))) : null,
    unfinished && !readOnly ? h("div", { class: "job" },
      h("span", {}, t("Adding a folder was not finished.")),
      named("pause", t("Go on"), api.resumeWork),
      named("cancel", t("Leave it"), () => api.cancelWork())) : null);
  if (focused) /** @type {HTMLElement | null} */ (root.querySelector(`[data-name="${focused}"]`))?.focus();
}

/** @param {Job} job @param {HTMLElement[]} buttons */
function running(job, buttons) {
  const title = jobTitle(job);
  const bar = h("progress", { "aria-label": title });
  if (job.total) { bar.max = job.total; bar.value = job.done; }
  return h("div", { class: "job", "aria-busy": "true" },
    h("strong", {}, title), bar, h("span", { class: "how-far" }, jobProgress(job)),
    h("span", { class: "buttons" }, buttons), h("small", { class: "muted" }, reason(job.text)));
}

/**
 * Say how jobs end, whichever tab is seen.
 * @param {Work} work
 * @param {(jobs: Job[]) => void} ended
 */
export function sayEnds(work, ended) {
  /** @type {Set<string> | null} */
  let known = null;
  work.watch(({ jobs }) => {
    const now = new Set(jobs.map(({ name, ended: at }) => `${name} ${at}`));
    const fresh = known === null ? [] : jobs.filter(({ name, ended: at }) => !known?.has(`${name} ${at}`));
    known = now;
    for (const job of fresh) {
      const quiet = job.name === "watch" && !job.error;
      if (!quiet) toast(`${jobTitle(job)}: ${jobOutcome(job)}`, job.error ? "bad" : "");
    }
    if (fresh.length) ended(fresh);
  });
}
