/** The values behind labels: which outcomes of a condition are possible, and the values it leaves. */

import { conjunction, FALSE, NULL, outcomesOnPlaces, testsIn, TRUE } from "./conditions.js";
import { compareTexts, placeOfLiteral, placeOfValue, scaleOf } from "./scales.js";

/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./conditions.js").Test} Test */
/** @typedef {import("./scales.js").Scale} Scale */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Label} Label */
/** @typedef {string | number | boolean} Value */

/**
 * The possible outcomes of a condition, with the chances that it is true and false (NaN: unknown).
 * @typedef {{possible: [boolean, boolean, boolean], chance: number, against: number}} Outcomes
 */

/**
 * Neighbouring numbers on which a condition has the same outcome.
 * @typedef {{first: bigint, last: bigint, outcome: number}} Piece
 */

const MOST = 200_000; // values of ranges that are listed
const FEW = 20_000; // values of one label that are listed

/** @param {Outcomes} outcomes */
export const must = ({ possible }) => possible[TRUE] && !possible[FALSE] && !possible[NULL];

/** @type {Outcomes} */
export const ALWAYS = { possible: [false, true, false], chance: 1, against: 0 };

/** @param {number} outcome @returns {Outcomes} */
export const certain = (outcome) => ({
  possible: [outcome === FALSE, outcome === TRUE, outcome === NULL],
  chance: Number(outcome === TRUE),
  against: Number(outcome === FALSE),
});

/** @param {Outcomes} first @param {Outcomes} second @returns {Outcomes} of AND */
export function together(first, second) {
  /** @type {[boolean, boolean, boolean]} */
  const possible = [false, false, false];
  first.possible.forEach((some, a) =>
    second.possible.forEach((other, b) => {
      possible[conjunction(a, b)] ||= some && other;
    }),
  );
  return {
    possible,
    chance: first.chance * second.chance,
    against: 1 - (1 - first.against) * (1 - second.against),
  };
}

/** @param {Outcomes} outcomes @returns {Outcomes} of NOT */
export const negated = ({ possible, chance, against }) => ({
  possible: [possible[TRUE], possible[FALSE], possible[NULL]],
  chance: against,
  against: chance,
});

/** @param {Outcomes} outcomes @returns {Outcomes} where null counts as false */
export const surely = ({ possible, chance }) => ({
  possible: [possible[FALSE] || possible[NULL], possible[TRUE], false],
  chance,
  against: 1 - chance,
});

/** The labels of a column, and the values behind them. */
export class LabelledColumn {
  /** @param {Described} described @param {Label[]} labels */
  constructor(described, labels) {
    this.described = described;
    this.labels = labels;
    this.scale = scaleOf(described);
    const ends = labels.flatMap((label) => this.statedEnds(label));
    /** @type {[bigint, bigint] | null} the least and the greatest number that any label states */
    this.hull = ends.length
      ? [ends.reduce((a, b) => (a < b ? a : b)), ends.reduce((a, b) => (a > b ? a : b))]
      : null;
  }

  /** @param {Label} label @returns {bigint[]} */
  statedEnds(label) {
    const { scale } = this;
    if (scale === null) {
      return [];
    }
    const stated = label.listed ?? (isRange(label) ? /** @type {Value[]} */ (label.between) : []);
    return stated.map((value) => scale.whole(value));
  }

  /** @param {Label} label @returns {number} the values behind it, without null; infinite without ends */
  number(label) {
    if (label.listed) {
      return label.listed.length;
    }
    if (this.scale && isRange(label)) {
      const [low, high] = this.statedEnds(label);
      return Number(high - low + 1n);
    }
    return this.described.type === "boolean" ? 2 : Infinity;
  }

  /**
   * Decide a condition on this column for each label.
   * @param {Condition} condition
   * @returns {Outcomes[]}
   */
  outcomes(condition) {
    const tests = testsIn(condition);
    const pieces = this.scale && this.pieces(condition, tests, this.scale);
    const texts = this.scale ? [] : tests.flatMap(({ literal }) => (literal ? [literal.text] : []));
    const equal = tests.every(({ test }) => ["=", "<>", "null"].includes(test));
    return this.labels.map((label) => {
      /** @type {[number, number, number]} */
      const weights = [0, 0, 0];
      /** @type {[boolean, boolean, boolean]} */
      const possible = [false, false, false];
      /** @param {number} outcome @param {number} weight */
      const add = (outcome, weight) => {
        possible[outcome] = true;
        weights[outcome] += weight;
      };
      if (label.null) {
        add(this.outcomeOf(condition, null), 1);
      }
      if (pieces && this.scale && !label.listed) {
        this.addPieces(label, pieces, this.scale, add);
        if (!isRange(label) && this.hull === null) {
          weights.fill(NaN);
        }
      } else if (label.listed || this.described.type === "boolean") {
        for (const value of label.listed ?? [false, true]) {
          add(this.outcomeOf(condition, value), 1);
        }
      } else {
        for (const [text, weight] of this.textsBehind(label, texts)) {
          add(this.outcomeOf(condition, text), equal ? weight : NaN);
        }
      }
      const whole = weights[0] + weights[1] + weights[2] || NaN;
      return { possible, chance: weights[TRUE] / whole, against: weights[FALSE] / whole };
    });
  }

  /** @param {Condition} condition @param {Value | null} value @returns {number} */
  outcomeOf(condition, value) {
    const place = value === null ? null : placeOfValue(this.described, value);
    return outcomesOnPlaces(condition, this.described, [place])[0];
  }

  /**
   * Cut the number line at the constants of a condition and next to them.
   * @param {Condition} condition
   * @param {Test[]} tests
   * @param {Scale} scale
   * @returns {Piece[]} ascending
   */
  pieces(condition, tests, scale) {
    const literals = tests.flatMap(({ literal }) => (literal ? [literal] : []));
    const near = literals.flatMap((literal) => scale.near(placeOfLiteral(this.described, literal)));
    const marks = [...new Set(near)]
      .filter((mark) => mark >= scale.lowest && mark <= scale.highest)
      .sort(ascending);
    /** @type {[bigint, bigint][]} */
    const ends = [];
    let start = scale.lowest;
    for (const mark of marks) {
      if (start < mark) {
        ends.push([start, mark - 1n]);
      }
      ends.push([mark, mark]);
      start = mark + 1n;
    }
    if (start <= scale.highest) {
      ends.push([start, scale.highest]);
    }
    const places = ends.map(([first, last]) => scale.place(nearestToZero(first, last)));
    const outcomes = outcomesOnPlaces(condition, this.described, places);
    return ends.map(([first, last], number) => ({ first, last, outcome: outcomes[number] }));
  }

  /**
   * @param {Label} label
   * @param {Scale} scale
   * @returns {[bigint, bigint]} the least and the greatest number behind it
   */
  ends(label, scale) {
    const [low, high] = isRange(label) ? this.statedEnds(label) : [scale.lowest, scale.highest];
    return [low, high];
  }

  /**
   * @param {Label} label
   * @param {Piece[]} pieces
   * @param {Scale} scale
   * @param {(outcome: number, weight: number) => void} add
   */
  addPieces(label, pieces, scale, add) {
    const [low, high] = this.ends(label, scale);
    const [from, to] = isRange(label) || this.hull === null ? [low, high] : this.hull;
    for (const { first, last, outcome } of pieces) {
      if (first <= high && last >= low) {
        const [begin, end] = [max(first, from), min(last, to)];
        add(outcome, begin <= end ? scale.length(begin, end) : 0);
      }
    }
  }

  /**
   * Texts that decide comparisons with named texts, each with its weight.
   * @param {Label} label
   * @param {string[]} named
   * @returns {[string, number][]}
   */
  textsBehind(label, named) {
    if (label.prefix) {
      return textsWithPrefix(label.prefix[0], label.prefix[1], named);
    }
    /** @type {[string, number][]} */
    const beside = named.flatMap((text) => [[text, 0], [`${text}\0`, 0]]);
    const stated = new Set(this.labels.flatMap((other) => other.listed ?? []));
    return [["", 0], ...beside, ...[...stated].map((text) => /** @type {[string, number]} */ ([String(text), 1]))];
  }

  /**
   * The values by which rows are grouped: those that labels name, null, and the rest.
   * @returns {{values: (Value | null)[], rest: boolean} | null} null if a label is too wide a range
   */
  groupValues() {
    const listed = this.labels.filter((label) => label.listed || this.number(label) <= MOST);
    const others = this.labels.filter((label) => !listed.includes(label));
    if (others.some(isRange)) {
      return null;
    }
    const values = new Map();
    for (const label of listed) {
      for (const value of label.null ? [null, ...this.valuesOf(label)] : this.valuesOf(label)) {
        values.set(JSON.stringify(value), value);
      }
    }
    if (others.some((label) => label.null)) {
      values.set("null", null);
    }
    return { values: [...values.values()], rest: others.length > 0 };
  }

  /** @param {Label} label with few values @returns {Value[]} */
  valuesOf(label) {
    if (label.listed) {
      return label.listed;
    }
    if (!this.scale) {
      return [false, true];
    }
    const [low, high] = this.statedEnds(label);
    const values = [];
    for (let number = low; number <= high; number += 1n) {
      values.push(this.scale.value(number));
    }
    return values;
  }

  /**
   * The values behind each label that a condition on this column leaves, as whole numbers: all if
   * these are few, otherwise the least and the greatest.
   * @param {Condition | null} condition
   * @returns {(bigint[] | null)[]} null for a label without ends; empty if it leaves none
   */
  numbersLeft(condition) {
    const scale = /** @type {Scale} */ (this.scale);
    const pieces = condition && this.pieces(condition, testsIn(condition), scale);
    /** @param {bigint} number */
    const isLeft = (number) =>
      condition === null || outcomesOnPlaces(condition, this.described, [scale.place(number)])[0] === TRUE;
    return this.labels.map((label) => {
      if (label.listed) {
        return label.listed.map((value) => scale.whole(value)).filter(isLeft);
      }
      const [low, high] = isRange(label) ? this.ends(label, scale) : this.publishedEnds(scale);
      const kept = (pieces ?? [{ first: low, last: high, outcome: TRUE }])
        .filter(({ first, last, outcome }) => outcome === TRUE && first <= high && last >= low)
        .map(({ first, last }) => /** @type {[bigint, bigint]} */ ([max(first, low), min(last, high)]));
      if (isRange(label) && this.number(label) <= FEW) {
        return kept.flatMap(([first, last]) => numbersFrom(first, last));
      }
      if (!kept.length) {
        return [];
      }
      const [least, greatest] = [kept[0][0], kept[kept.length - 1][1]];
      const open = !isRange(label) && (least === scale.lowest || greatest === scale.highest);
      return open ? null : [least, greatest];
    });
  }

  /** @param {Scale} scale @returns {[bigint, bigint]} the ends that the release allows */
  publishedEnds(scale) {
    const [bottom, top] = this.described.ends ?? [null, null];
    return [
      bottom === null ? scale.lowest : scale.whole(bottom),
      top === null ? scale.highest : scale.whole(top),
    ];
  }
}

/** @param {Label} label whether it has a least and a greatest value */
export const isRange = (label) => label.between !== undefined && label.between[0] !== null;

/** @param {bigint} a @param {bigint} b */
export const ascending = (a, b) => (a < b ? -1 : Number(a > b));

/** @param {bigint} a @param {bigint} b */
const max = (a, b) => (a > b ? a : b);

/** @param {bigint} a @param {bigint} b */
const min = (a, b) => (a < b ? a : b);

/** @param {bigint} first @param {bigint} last */
const nearestToZero = (first, last) => min(max(0n, first), last);

/** @param {bigint} first @param {bigint} last */
function numbersFrom(first, last) {
  const numbers = [];
  for (let number = first; number <= last; number += 1n) {
    numbers.push(number);
  }
  return numbers;
}

/**
 * @param {string} kept
 * @param {number} length
 * @param {string[]} named
 * @returns {[string, number][]} texts of this length behind a prefix; one that is not named has weight
 */
function textsWithPrefix(kept, length, named) {
  const hidden = length - [...kept].length;
  const texts = new Set([kept + "\0".repeat(hidden)]);
  for (const text of named) {
    if (text.startsWith(kept)) {
      const cut = [...text, ..."\0".repeat(length)].slice(0, length);
      texts.add(cut.join(""));
      texts.add(nextText(cut, [...kept].length));
    }
  }
  const other = [...texts].find((text) => !named.includes(text));
  return [...texts].map((text) => [text, Number(text === other)]);
}

/** @param {string[]} letters @param {number} prefix @returns {string} the next text of this length */
function nextText(letters, prefix) {
  for (let place = letters.length - 1; place >= prefix; place -= 1) {
    const code = /** @type {number} */ (letters[place].codePointAt(0));
    if (code < 0x10ffff) {
      const following = String.fromCodePoint(code + 1 >= 0xd800 && code + 1 < 0xe000 ? 0xe000 : code + 1);
      return letters.slice(0, place).join("") + following + "\0".repeat(letters.length - place - 1);
    }
  }
  return letters.join("");
}

/** @param {Value | null} a @param {Value | null} b the order of texts and truth values; nulls last */
export function compareListed(a, b) {
  if (a === null || b === null) {
    return Number(a === null) - Number(b === null);
  }
  return compareTexts(String(a), String(b));
}
