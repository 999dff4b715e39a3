// The last searches for words, kept in this browser alone.

const KEY = "searches";
export const MOST = 8;

/** The last ones first. @returns {string[]} */
export function recent() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((text) => typeof text === "string").slice(0, MOST) : [];
  } catch {
    return []; // somebody else wrote there
  }
}

/** Remember a search. @param {string} text */
export function remember(text) {
  const wanted = text.trim();
  if (!wanted) return;
  const others = recent().filter((other) => other.toLowerCase() !== wanted.toLowerCase());
  localStorage.setItem(KEY, JSON.stringify([wanted, ...others].slice(0, MOST)));
}

export function forgetRecent() {
  localStorage.removeItem(KEY);
}
