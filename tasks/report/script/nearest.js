/** How far apart two texts are, to offer the nearest one. */

/**
 * @param {string} first
 * @param {string} second
 * @returns {number} how many letters differ, those of another case by less
 */
export function distance(first, second) {
  const [a, b] = [[...first.slice(0, 50)], [...second.slice(0, 50)]];
  let row = b.map((_, place) => place + 1);
  a.forEach((letter, place) => {
    let [left, above] = [place + 1, place];
    row = row.map((before, other) => {
      const same = letter === b[other] ? 0 : letter.toLowerCase() === b[other].toLowerCase() ? 0.1 : 1;
      const least = Math.min(left + 1, before + 1, above + same);
      [left, above] = [least, before];
      return least;
    });
  });
  return row.length ? row[row.length - 1] : a.length;
}
