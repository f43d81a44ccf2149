/**
 * Values expected of rows by their quasi-identifiers, fitted from the published groups.
 *
 * Across groups the release shows which values come with which quasi-identifiers. If groups were made
 * by quasi-identifiers, the regression of the values' means on these is also that of the rows; if they
 * were made by the values, the regression of the quasi-identifiers on the values is.
 *
 * Source: Cox, Robins (ecological regression); the construction is this project's own.
 */

import { byGroup } from "./engine.js";
import { ORDERED } from "./scales.js";
import { columnOf } from "./tables.js";

/** @typedef {import("./tables.js").Column} Column */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Table} Table */

const BINS = 12; // of each column, at most
const MOST_FITTED = 1_000; // of all columns, for which slopes are fitted here
const RIDGE = 5; // rows; shrinks slopes that few rows support
const CELLS = 20_000_000; // groups times bins; beyond these some groups represent all

/**
 * The numbers of groups, one each: how many there are, their mean, their variance around it, and the
 * mean variance of a number that is known only by its range.
 * @typedef {{size: Float64Array, mean: Float64Array, variance: Float64Array, inner: Float64Array}} GroupedNumbers
 */

/**
 * Rows that a cell selects: their groups, ascending, how many rows of each, and the rows.
 * @typedef {{groups: number[], hits: number[], rows: number[]}} Selected
 */

/**
 * How far rows' numbers are expected to be above their groups' means. Slopes have an error unless
 * `part`, the share of rows' differences that each group allows, is null.
 * @typedef {{moved: Float64Array, part: Float64Array | null, slopesError: (unlike: Float64Array) => number}} Deviations
 */

/** @param {number} number @param {number} length */
const atLeast = (number, length) => Math.max(number, length);

/** @param {Float64Array} numbers */
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/**
 * A column in a few bins: ranges of about equally many rows, or the most frequent values and a rest.
 * @param {Column} column
 * @param {boolean} ordered
 * @returns {{ofValue: Int32Array, number: number}} the bin of each code
 */
export function inBins({ values, codes }, ordered) {
  const times = new Float64Array(values.length + 1);
  codes.forEach((code) => {
    times[code] += 1;
  });
  const number = values.length + Number(times[values.length] > 0);
  if (number <= BINS) {
    return { ofValue: Int32Array.from(times, (_, code) => code), number };
  }
  const ofValue = new Int32Array(values.length + 1).fill(BINS - 1);
  if (ordered) {
    let before = 0;
    times.forEach((own, code) => {
      ofValue[code] = Math.min(Math.floor(((before + own / 2) * BINS) / codes.length), BINS - 1);
      before += own;
    });
  } else {
    const codesByTimes = [...times.keys()].sort((a, b) => times[b] - times[a] || a - b);
    codesByTimes.slice(0, BINS - 1).forEach((code, bin) => {
      ofValue[code] = bin;
    });
  }
  return { ofValue, number: BINS };
}

/**
 * The bin of each row in each column, among the bins of all columns.
 * @typedef {{bins: number, binOfRow: Uint16Array[]}} Binned
 */

/**
 * @param {Table} table exact rows
 * @param {Described[]} columns its quasi-identifiers
 * @returns {Binned | null} null if there are too many bins for a page
 */
export function binned(table, columns) {
  let bins = 0;
  const binOfRow = columns.map(({ name, type }) => {
    const column = columnOf(table, name);
    const { ofValue, number } = inBins(column, ORDERED.includes(type));
    const first = bins;
    bins += number;
    return Uint16Array.from(column.codes, (code) => first + ofValue[code]);
  });
  return bins > MOST_FITTED ? null : { bins, binOfRow };
}

/** Quasi-identifiers of grouped rows, which predict how rows differ from their groups. */
export class Covariates {
  /**
   * @param {Binned} binned
   * @param {Int32Array} group of each row
   * @param {number} groups
   */
  constructor({ bins, binOfRow }, group, groups) {
    this.bins = bins;
    this.binOfRow = binOfRow;
    this.counts = new Float64Array(bins);
    this.group = group;
    const { start, order } = byGroup(group, groups);
    this.start = start;
    this.order = order;
    this.rows = Float64Array.from({ length: groups }, (_, own) => start[own + 1] - start[own]);
    const some = [...this.rows.keys()].filter((own) => this.rows[own] > 0);
    const step = atLeast(Math.floor((groups * this.bins) / CELLS), 1);
    /** Groups that represent all. */
    this.used = some.filter((_, place) => place % step === 0);
    this.share = this.used.length / atLeast(some.length, 1);
    this.isUsed = new Float64Array(groups);
    for (const own of this.used) {
      this.isUsed[own] = 1;
    }
    const number = this.used.reduce((total, own) => total + this.rows[own], 0);
    this.frequent = this.addUp(this.used, this.isUsed).map((times) => times / atLeast(number, 1));
    this.among = this.productsAmong(number);
    this.total = this.productsOfRows(group.length);
    this.ofBoxes = new Inverse(this.among, this.bins);
    this.ofValues = new Inverse(this.total, this.bins);
  }

  /**
   * @param {Iterable<number>} groups
   * @param {Float64Array} weights of groups
   * @returns {Float64Array} the weights of the groups' rows in each bin
   */
  addUp(groups, weights) {
    const sums = new Float64Array(this.bins);
    for (const own of groups) {
      this.countBins(own, (bins, counts) => {
        for (const bin of bins) {
          sums[bin] += counts[bin] * weights[own];
        }
      });
    }
    return sums;
  }

  /**
   * Count a group's rows in each bin.
   * @param {number} own the group
   * @param {(bins: number[], counts: Float64Array) => void} act takes the bins that it has rows in
   */
  countBins(own, act) {
    const { counts } = this;
    /** @type {number[]} */
    const bins = [];
    for (let place = this.start[own]; place < this.start[own + 1]; place += 1) {
      for (const binOfRow of this.binOfRow) {
        const bin = binOfRow[this.order[place]];
        if (!counts[bin]) {
          bins.push(bin);
        }
        counts[bin] += 1;
      }
    }
    act(bins, counts);
    for (const bin of bins) {
      counts[bin] = 0;
    }
  }

  /**
   * @param {number[]} groups
   * @param {Float64Array} weights
   * @returns {Float64Array} in each bin the weighted excess of rows over those that chance predicts
   */
  excess(groups, weights) {
    const expected = groups.reduce((total, own) => total + weights[own] * this.rows[own], 0);
    return this.addUp(groups, weights).map((times, bin) => times - expected * this.frequent[bin]);
  }

  /**
   * @param {number} number of rows of used groups
   * @returns {Float64Array} the covariance of bins between groups, times the number of rows
   */
  productsAmong(number) {
    const { bins, frequent } = this;
    const products = new Float64Array(bins * bins);
    for (const own of this.used) {
      this.countBins(own, (some, counts) => {
        for (const bin of some) {
          for (const other of some) {
            products[bin * bins + other] += (counts[bin] * counts[other]) / this.rows[own];
          }
        }
      });
    }
    return products.map(
      (product, place) =>
        (product - number * frequent[Math.floor(place / bins)] * frequent[place % bins]) / this.share,
    );
  }

  /** @param {number} rows @returns {Float64Array} the covariance of bins over all rows, times the rows */
  productsOfRows(rows) {
    const { bins } = this;
    const products = new Float64Array(bins * bins);
    for (let row = 0; row < rows; row += 1) {
      for (const binOfRow of this.binOfRow) {
        for (const other of this.binOfRow) {
          products[binOfRow[row] * bins + other[row]] += 1;
        }
      }
    }
    const times = Float64Array.from({ length: bins }, (_, bin) => products[bin * bins + bin]);
    return products.map(
      (product, place) => product - (times[Math.floor(place / bins)] * times[place % bins]) / atLeast(rows, 1),
    );
  }

  /**
   * @param {GroupedNumbers} numbers of all groups
   * @returns {Deviations}
   */
  fit({ size, mean, variance, inner }) {
    const { rows } = this;
    const number = atLeast(sum(rows), 1);
    const middle = sum(rows.map((own, place) => own * mean[place])) / number;
    const apart = mean.map((own) => own - middle);
    const between = sum(rows.map((own, place) => own * apart[place] ** 2));
    const total = between + sum(rows.map((own, place) => own * (variance[place] + inner[place])));
    if (between <= 0) {
      return { moved: new Float64Array(this.group.length), part: null, slopesError: () => 0 };
    }
    const joint = this.excess(this.used, apart).map((own) => own / this.share);
    const shares = traceOf(this.among, this.bins) / atLeast(traceOf(this.total, this.bins), 1e-300);
    const byValues = between / total > shares;
    const inverse = byValues ? this.ofValues : this.ofBoxes;
    const scale = byValues ? total / between : 1;
    const slopes = inverse.times(joint).map((slope) => slope * scale);
    const residual = atLeast(total - quadratic(this.total, slopes), total / 100) / number;
    const part = variance.map((own, place) =>
      Math.min(((own * size[place]) / atLeast(size[place] - 1, 1) + inner[place]) / residual, 1),
    );
    const [noise, each] = byValues ? [this.total, between / number] : [this.among, residual];
    return {
      moved: this.rowDeviations(slopes, part),
      part,
      slopesError: (unlike) =>
        scale * Math.sqrt(atLeast(each * quadratic(noise, inverse.times(unlike)), 0)),
    };
  }

  /** @param {Float64Array} slopes @param {Float64Array} part @returns {Float64Array} one per row */
  rowDeviations(slopes, part) {
    const moves = new Float64Array(this.group.length);
    for (const bins of this.binOfRow) {
      bins.forEach((bin, row) => {
        moves[row] += slopes[bin];
      });
    }
    const middle = new Float64Array(this.rows.length);
    this.group.forEach((own, row) => {
      middle[own] += moves[row] / this.rows[own];
    });
    return moves.map((move, row) => (move - middle[this.group[row]]) * part[this.group[row]]);
  }

  /**
   * The excess of selected rows in each bin over as many rows that are like their groups.
   * @param {Selected} selected
   * @param {Float64Array} part the weight of each group's rows
   * @returns {Float64Array}
   */
  unlike({ groups, hits, rows }, part) {
    const away = new Float64Array(this.bins);
    for (const row of rows) {
      for (const bins of this.binOfRow) {
        away[bins[row]] += part[this.group[row]];
      }
    }
    const each = new Float64Array(this.rows.length);
    let whole = 0;
    groups.forEach((own, place) => {
      each[own] = (hits[place] * part[own]) / atLeast(this.rows[own], 1);
      whole += hits[place] * part[own];
    });
    const middle = this.excess(groups.filter((own) => this.isUsed[own]), each);
    return away.map((own, bin) => own - whole * this.frequent[bin] - middle[bin]);
  }

  /**
   * @param {Deviations} deviations
   * @param {Selected} selected
   * @returns {{moved: number, error: number}} what a sum over selected rows moves by, and its error
   */
  movedOver({ moved, part, slopesError }, selected) {
    const total = selected.rows.reduce((so_far, row) => so_far + moved[row], 0);
    return { moved: total, error: part === null ? 0 : slopesError(this.unlike(selected, part)) };
  }
}

/** @param {Float64Array} matrix @param {number} width */
function traceOf(matrix, width) {
  let trace = 0;
  for (let place = 0; place < matrix.length; place += width + 1) {
    trace += matrix[place];
  }
  return trace;
}

/** @param {Float64Array} matrix @param {Float64Array} vector @returns {number} vector · matrix · vector */
function quadratic(matrix, vector) {
  const width = vector.length;
  let total = 0;
  vector.forEach((own, row) => {
    let inner = 0;
    for (let column = 0; column < width; column += 1) {
      inner += matrix[row * width + column] * vector[column];
    }
    total += own * inner;
  });
  return total;
}

/** The inverse of a covariance with the ridge on its diagonal, by Cholesky's method. */
class Inverse {
  /** @param {Float64Array} matrix symmetric, not negative @param {number} width */
  constructor(matrix, width) {
    this.width = width;
    this.lower = matrix.slice();
    const { lower } = this;
    for (let row = 0; row < width; row += 1) {
      for (let column = 0; column <= row; column += 1) {
        let rest = matrix[row * width + column] + (row === column ? RIDGE : 0);
        for (let place = 0; place < column; place += 1) {
          rest -= lower[row * width + place] * lower[column * width + place];
        }
        lower[row * width + column] = row === column ? Math.sqrt(rest) : rest / lower[column * width + column];
      }
    }
  }

  /** @param {Float64Array} vector @returns {Float64Array} */
  times(vector) {
    const { lower, width } = this;
    const result = vector.slice();
    for (let row = 0; row < width; row += 1) {
      for (let column = 0; column < row; column += 1) {
        result[row] -= lower[row * width + column] * result[column];
      }
      result[row] /= lower[row * width + row];
    }
    for (let row = width - 1; row >= 0; row -= 1) {
      for (let below = row + 1; below < width; below += 1) {
        result[row] -= lower[below * width + row] * result[below];
      }
      result[row] /= lower[row * width + row];
    }
    return result;
  }
}
