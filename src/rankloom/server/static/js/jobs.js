// Long jobs of the server, one at a time.

/** @import { Api, Job } from "./types.js" */

/**
 * Wait until the job of a name has ended.
 * @param {Pick<Api, "collection">} api
 * @param {string} name
 * @param {(job: Job) => void} onStep
 * @returns {Promise<Partial<Job>>}
 */
export async function jobEnd(api, name, onStep = () => {}) {
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, 400); });
    const { job, jobs } = await api.collection();
    if (job?.name !== name) return jobs.find((known) => known.name === name) ?? { error: "it did not run" };
    onStep(job);
  }
}
