// Addresses of pictures and files: each names its collection, so that a browser never mixes two.

let collection = "";

/** @param {string} id of the collection that is served */
export const setCollection = (id) => { collection = id; };

/** The collection that this page shows; empty before the server has said it. */
export const currentCollection = () => collection;

/** @param {string} path */
const address = (path) => `/api/${path}?collection=${encodeURIComponent(collection)}`;

/** @param {number} item */
export const thumbnail = (item) => address(`items/${item}/thumbnail`);
/** @param {number} item */
export const view = (item) => address(`items/${item}/view`);
/** @param {number} item */
export const file = (item) => address(`items/${item}/file`);
/** A picture that was sent. @param {string} key */
export const picture = (key) => address(`pictures/${encodeURIComponent(key)}/thumbnail`);
