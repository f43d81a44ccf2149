/**
 * Values expected of rows by their quasi-identifiers, fitted from the published groups.
 *
 * Across groups the release shows which values come with which quasi-identifiers. If groups were made
 * by quasi-identifiers, the regression of the values' means on these is also that of the rows; if they
 * were made by the values, the regression of the quasi-identifiers on the values is.
 *
 * Source: Cox, Robins (ecological regression); the construction is this project's own.
 */

import { ORDERED } from "./scales.js";
import { columnOf } from "./tables.js";

/** @typedef {import("./engine.js").Selected} Selected */
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
 * How far rows' numbers are expected to be above their groups' means. Slopes have an error unless
 * `part`, the share of rows' differences that each group allows, is null.
 * @typedef {{moved: Float64Array, part: Float64Array | null, slopesError: (unlike: Float64Array) => number}} Deviations
 */

/** @param {number} number @param {number} length */
const atLeast = (number, length) => Math.max(number, length);

/**
 * A column in a few bins: ranges of about equally many rows, or the most frequent values and a rest.
 * @param {Column} column
 * @param {boolean} ordered
 * @returns {{ofValue: Int32Array, number: number}} the bin of each code
 */
export function inBins({ values, codes }, ordered) {
  const times = new Float64Array(values.length + 1);
  for (const code of codes) {
    times[code] += 1;
  }
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
 * The bins of each row, one per column, among the bins of all columns; a row's follow each other.
 * @typedef {{bins: number, width: number, binsOfRows: Uint16Array}} Binned
 */

/**
 * @param {Table} table exact rows
 * @param {Described[]} columns its quasi-identifiers
 * @returns {Binned | null} null if there are too many bins for a page
 */
export function binned(table, columns) {
  const width = columns.length;
  const binsOfRows = new Uint16Array(table.rows * width);
  let bins = 0;
  columns.forEach(({ name, type }, place) => {
    const column = columnOf(table, name);
    const { ofValue, number } = inBins(column, ORDERED.includes(type));
    for (let row = 0; row < table.rows; row += 1) {
      binsOfRows[row * width + place] = bins + ofValue[column.codes[row]];
    }
    bins += number;
  });
  return bins > MOST_FITTED ? null : { bins, width, binsOfRows };
}

/** Quasi-identifiers of grouped rows, which predict how rows differ from their groups. */
export class Covariates {
  /**
   * @param {Binned} binned
   * @param {import("./engine.js").Ordered} ordered rows by group
   */
  constructor({ bins, width, binsOfRows }, { start, order, group }) {
    this.bins = bins;
    this.width = width;
    /** The bins and groups of rows by group. */
    this.binsOfRows = new Uint16Array(binsOfRows.length);
    order.forEach((row, place) => {
      this.binsOfRows.set(binsOfRows.subarray(row * width, row * width + width), place * width);
    });
    this.group = group;
    const groups = start.length - 1;
    this.rows = Float64Array.from({ length: groups }, (_, own) => start[own + 1] - start[own]);
    const some = [...this.rows.keys()].filter((own) => this.rows[own] > 0);
    const step = atLeast(Math.floor((groups * this.bins) / CELLS), 1);
    /** Groups that represent all. */
    this.used = Int32Array.from(some.filter((_, place) => place % step === 0));
    this.share = this.used.length / atLeast(some.length, 1);
    this.isUsed = new Float64Array(groups);
    for (const own of this.used) {
      this.isUsed[own] = 1;
    }
    this.counted = this.countBins(start);
    const number = this.used.reduce((total, own) => total + this.rows[own], 0);
    this.frequent = this.addUp(this.used, this.isUsed).map((times) => times / atLeast(number, 1));
    this.among = this.productsAmong(number);
    this.total = this.productsOfRows();
    this.ofBoxes = new Inverse(this.among, this.bins);
    this.ofValues = new Inverse(this.total, this.bins);
  }

  /** @param {Int32Array} start @returns the rows of used groups in each bin; group g begins at first[g] */
  countBins(start) {
    const { binsOfRows, width } = this;
    const most = binsOfRows.length;
    const [bin, times, first] = [new Uint16Array(most), new Int32Array(most), new Int32Array(start.length)];
    const place = new Int32Array(this.bins).fill(-1);
    let next = 0;
    for (let own = 0; own < start.length - 1; own += 1) {
      first[own] = next;
      for (let each = start[own] * width; this.isUsed[own] && each < start[own + 1] * width; each += 1) {
        const number = binsOfRows[each];
        if (place[number] < first[own]) {
          place[number] = next;
          bin[next++] = number;
        }
        times[place[number]] += 1;
      }
    }
    first[start.length - 1] = next;
    return { first, bin, times };
  }

  /**
   * @param {Int32Array} groups
   * @param {Float64Array} weights of groups
   * @returns {Float64Array} the weights of the groups' rows in each bin
   */
  addUp(groups, weights) {
    const { first, bin, times } = this.counted;
    const sums = new Float64Array(this.bins);
    for (let group = 0; group < groups.length; group += 1) {
      const own = groups[group];
      for (let place = first[own]; place < first[own + 1]; place += 1) {
        sums[bin[place]] += times[place] * weights[own];
      }
    }
    return sums;
  }

  /**
   * @param {Int32Array} groups
   * @param {Float64Array} weights
   * @returns {Float64Array} in each bin the weighted excess of rows over those that chance predicts
   */
  excess(groups, weights) {
    let expected = 0;
    for (let place = 0; place < groups.length; place += 1) {
      expected += weights[groups[place]] * this.rows[groups[place]];
    }
    return this.addUp(groups, weights).map((times, bin) => times - expected * this.frequent[bin]);
  }

  /**
   * @param {number} number of rows of used groups
   * @returns {Float64Array} the covariance of bins between groups, times the number of rows
   */
  productsAmong(number) {
    const { bins, frequent, rows } = this;
    const { first, bin, times } = this.counted;
    const products = new Float64Array(bins * bins);
    for (const own of this.used) {
      for (let place = first[own]; place < first[own + 1]; place += 1) {
        for (let other = first[own]; other <= place; other += 1) {
          const product = (times[place] * times[other]) / rows[own];
          products[bin[place] * bins + bin[other]] += product;
          if (other < place) {
            products[bin[other] * bins + bin[place]] += product;
          }
        }
      }
    }
    return products.map(
      (product, place) =>
        (product - number * frequent[Math.floor(place / bins)] * frequent[place % bins]) / this.share,
    );
  }

  /** @returns {Float64Array} the covariance of bins over all rows, times the rows */
  productsOfRows() {
    const { bins, binsOfRows, width } = this;
    const products = new Float64Array(bins * bins);
    for (let first = 0; first < binsOfRows.length; first += width) {
      for (let own = first; own < first + width; own += 1) {
        for (let other = first; other <= own; other += 1) {
          products[binsOfRows[own] * bins + binsOfRows[other]] += 1;
        }
      }
    }
    // the bins of later columns are greater
    return products.map((_, place) => {
      const [row, column] = [Math.floor(place / bins), place % bins];
      const times = products[row * bins + row] * products[column * bins + column];
      return products[Math.max(row, column) * bins + Math.min(row, column)] - times / atLeast(this.group.length, 1);
    });
  }

  /**
   * @param {GroupedNumbers} numbers of all groups
   * @returns {Deviations}
   */
  fit({ size, mean, variance, inner }) {
    const { rows } = this;
    const number = atLeast(this.group.length, 1);
    let [middle, between, within] = [0, 0, 0];
    for (let own = 0; own < rows.length; own += 1) {
      middle += rows[own] * mean[own];
    }
    middle /= number;
    const apart = mean.map((own) => own - middle);
    for (let own = 0; own < rows.length; own += 1) {
      between += rows[own] * apart[own] ** 2;
      within += rows[own] * (variance[own] + inner[own]);
    }
    const total = between + within;
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
    const part = new Float64Array(rows.length);
    for (let own = 0; own < rows.length; own += 1) {
      part[own] = Math.min(((variance[own] * size[own]) / atLeast(size[own] - 1, 1) + inner[own]) / residual, 1);
    }
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
    const { group, rows, width, binsOfRows } = this;
    const moves = new Float64Array(group.length);
    const middle = new Float64Array(rows.length);
    for (let row = 0, next = 0; row < moves.length; row += 1) {
      let move = 0;
      for (; next < (row + 1) * width; next += 1) {
        move += slopes[binsOfRows[next]];
      }
      moves[row] = move;
      middle[group[row]] += move / rows[group[row]];
    }
    for (let row = 0; row < moves.length; row += 1) {
      moves[row] = (moves[row] - middle[group[row]]) * part[group[row]];
    }
    return moves;
  }

  /**
   * The excess of selected rows in each bin over as many rows that are like their groups.
   * @param {Selected} selected
   * @param {Float64Array} part the weight of each group's rows
   * @returns {Float64Array}
   */
  unlike({ groups, hits, places }, part) {
    const { width, binsOfRows, group } = this;
    const away = new Float64Array(this.bins);
    for (let row = 0; row < places.length; row += 1) {
      const [first, own] = [places[row] * width, part[group[places[row]]]];
      for (let next = first; next < first + width; next += 1) {
        away[binsOfRows[next]] += own;
      }
    }
    const each = new Float64Array(this.rows.length);
    let whole = 0;
    for (let place = 0; place < groups.length; place += 1) {
      const own = groups[place];
      each[own] = (this.isUsed[own] * hits[place] * part[own]) / atLeast(this.rows[own], 1);
      whole += hits[place] * part[own];
    }
    const middle = this.excess(groups, each);
    return away.map((more, bin) => more - whole * this.frequent[bin] - middle[bin]);
  }

  /**
   * @param {Deviations} deviations
   * @param {Selected} selected
   * @returns {{moved: number, error: number}} what a sum over selected rows moves by, and its error
   */
  movedOver({ moved, part, slopesError }, selected) {
    let total = 0;
    for (let row = 0; row < selected.places.length; row += 1) {
      total += moved[selected.places[row]];
    }
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
