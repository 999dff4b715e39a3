// Tiles that move from where they were to where they are in another order.

/** @typedef {{ x: number, y: number, width: number }} Place */

/**
 * Where tiles are on the page, by item.
 * @param {Iterable<HTMLElement>} tiles
 * @returns {Map<number, Place>}
 */
export function placesOf(tiles) {
  return new Map([...tiles].map((tile) => {
    const box = tile.getBoundingClientRect();
    return [Number(tile.dataset.id), { x: box.left, y: box.top + scrollY, width: box.width }];
  }));
}

/** @param {Map<number, Place>} before @param {Iterable<HTMLElement>} tiles */
export function moveFrom(before, tiles) {
  for (const tile of tiles) {
    const box = tile.getBoundingClientRect(), old = before.get(Number(tile.dataset.id));
    const from = old ? { transform: movement(old, box) } : { opacity: 0, transform: "scale(.92)" };
    const to = old ? { transform: "none" } : { opacity: 1, transform: "none" };
    tile.animate([from, to], { duration: old ? 650 : 400, easing: "cubic-bezier(.3, .7, .2, 1)" });
  }
}

/** From where a tile is to where it was. @param {Place} old @param {DOMRect} box */
function movement(old, box) {
  const x = old.x - box.left, y = old.y - box.top - scrollY;
  return `translate(${x}px, ${y}px) scale(${old.width / box.width})`;
}
