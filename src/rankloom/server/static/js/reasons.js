// What the server says when something does not work, in the reader's language. It speaks English, as the
// shell and the log do; the lines that people meet are known here, with their values in braces.

import { language, t as translated } from "./i18n.js";

/** A line as the server writes it; named so that the check of the messages finds it. @param {string} text */
const t = (text) => text;

const ALWAYS = [
  t("the collection is busy; try again in a moment"),
  t("this server has another collection now; load the page again"),
  t("the disk of the server is full, so nothing can be stored; make room there, then try again"),
  t("the collection is damaged; repair it in the tab Collection or, on the server, with: rankloom repair"),
  t("something went wrong here; the server's log has it under {number}"), t("this server is read-only"),
  t("the server is stopping"), t("too many requests; try again in {seconds} s"), t("this is not the token"),
  t("too many {what} are waiting; try again in a moment"), t("at most {bytes} bytes are accepted"),
  t("others are still at work, so nothing was done; try again in a moment"),
  t("a browser has at most {n} profiles"),
];

const SEARCHING = [
  t("{text} is no date; give {forms}"), t("no indexed file is in it; {folders}"),
  t("known folders are {names}"),
  t("2024, 2024-05, 2024-05-17, 2024-05-17T12:30, today, yesterday, 30d, 2w, 6m or 1y"),
  t("there is no picture {key}; give it again"), t("there is no such picture; send it again"),
  t("this picture cannot be used: {why}"), t("there is no item {item}"), t("there is no such concept"),
  t("there is no concept {name}; known are {names}"), t("there is no saved search of that name"),
  t("the model in use was trained with the expert {name}, which the collection no longer has; "
    + "run 'rankloom train' again, or 'rankloom models rollback'"),
];

const ORGANIZING = [
  t("the name of {what} is made of letters, digits, spaces, _ and -; got {name}"), t("a saved search"),
  t("a concept"), t("{name} cannot be the name of {what}: programs have a meaning for it; take another"),
  t("a person"), t("a tag is a word or some, in one line; got {text}"),
  t("a tag has at most {most} letters, got {n}"), t("a caption has at most {most} letters, got {n}"),
  t("item {item} would have more than {most} tags; take some away first"), t("there is no album {album}"),
  t("there are {n} albums already; delete one first"), t("an album has at most {most} items"),
  t("person {id} has the name {name} already; make them one: rankloom people merge {first} {second}"),
  t("name some of the faces, but not all: the others stay"),
];

const TEACHING = [
  t("a concept needs examples: mark some results as right first"),
  t("there is nothing to learn from: mark results of a query as right and others as wrong first"),
  t("no expert tells the marked items apart: there is nothing to learn from"),
  t("marks of {n} queries are too few to judge a model: mark results of at least {least} queries"),
  t("no model was ever put in use: there is nothing to go back to"),
  t("a model cannot be compared with itself: it is the one in use"),
];

const FILES = [
  t("its file is gone, or not as it was indexed; bring the collection up to date: rankloom index"),
  t("this machine has no file manager that could be opened"),
  t("only a browser on the server's own machine can open its folders"),
  t("other downloads are under way; try again when one has ended"),
  t("there is no such download; ask for it again"), t("none of them has {what}"), t("no item has {what}"),
  t("a file"), t("a caption, tags or stars"), t("these captions cannot be used: {why}"),
  t("this is no text; save the table as CSV or TSV in UTF-8"),
  t("{file} has no column {column}; its columns are {names}"),
  t("it has more than {most} rows; send it in parts"),
  t("there is no such folder among those that may be added"), t("this folder cannot be read: {why}"),
  t("there is no such backup any more"), t("the backup {name} cannot be read; choose another"),
  t("a file is no copy any more; look at the duplicates again"),
  t("{file} is no copy any more; look at the duplicates again"),
  t("only a server that this machine alone reaches moves files to the bin; or use: rankloom "
    + "duplicates --trash"),
  t("it could not be moved to the bin, and stays: {why}"), t("the system did not move it"),
  t("the file to keep is gone or has changed since it was indexed"),
  t("it is gone or has changed since it was indexed"),
  t("its bytes are not those of the file that is kept"),
];

const JOBS = [
  t("wait for what is running now: {job}"), t("this waits already for what is running now"),
  t("{n} jobs are waiting already; try again when some have ended"), t("nothing runs that could be paused"),
  t("nothing is paused"), t("nothing runs that could be cancelled"), t("this job does not wait any more"),
  t("nothing was left unfinished"), t("a package is missing on the server; run: {command}"),
  t("describing: {file}"), t("describing shots: {file}"), t("reading again: {file}"),
  t("adding descriptors"), t("looking for places"), t("learning what looks alike"),
  t("looking through folders: {n} files"), t("listening, minute {n}: {file}"),
];

const UNREADABLE = [
  t("the file is empty"), t("not a picture in a known format"), t("cannot be decoded: {why}"),
  t("not a regular file"), t("the video has no readable frames"), t("the file has no video in it"),
  t("no decoder for this video"), t("not a readable video: {why}"),
  t("{width} x {height} pixels are more than the limit of {most}"), t("the decoder crashed on it: {why}"),
  t("the decoder hung on it: {why}"), t("decoding it takes more memory than there is for a picture"),
  t("permission denied"), t("no such file or directory"), t("image file is truncated"),
  t("image file is truncated ({n} bytes not processed)"),
];

const LINES = [ALWAYS, SEARCHING, ORGANIZING, TEACHING, FILES, JOBS, UNREADABLE].flat();

// Which part of a request is meant.
const FIELD = /^(?:query\.)?(?:filters\.)?(?:after|before|folder|album|tag|within|name|caption|add|items): /;

/** @type {{ text: string, pattern: RegExp }[] | undefined} */
let known;

/** @param {string} text */
function asPattern(text) {
  const parts = text.split(/\{(\w+)\}/);
  const literal = (/** @type {string} */ part) => part.replace(/[\^$\\.*+?()[\]{}|]/g, "\\$&");
  const escaped = parts.map((part, i) => (i % 2 ? `(?<${part}>.+?)` : literal(part)));
  return new RegExp(`^${escaped.join("")}$`);
}

/**
 * A line of the server as its reader says it; as it is where it is not known.
 * @param {string} line
 * @param {(text: string, values?: Record<string, string>) => string} say
 * @returns {string}
 */
export function reasonIn(line, say) {
  known ??= LINES.map((text) => ({ text, pattern: asPattern(text) }));
  for (const candidate of [line.replace(FIELD, ""), line]) {
    for (const { text, pattern } of known) {
      const values = pattern.exec(candidate);
      if (!values) continue;
      const parts = Object.entries(values.groups ?? {}).map(([name, value]) => [name, reasonIn(value, say)]);
      return say(text, Object.fromEntries(parts));
    }
  }
  return line;
}

/** The same in the language of the page. @param {string} line */
export const reason = (line) => (language === "en" ? line : reasonIn(line, translated));
