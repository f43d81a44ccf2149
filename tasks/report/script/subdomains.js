/**
 * Bounds on releases that show subdomains in place of sensitive values.
 *
 * Each row of a group has one of its subdomains' copies, no two rows the same, and any value of it. A
 * copy is inside a condition if all its values match. Of the selected rows at most as many count as
 * copies have a matching value, and at least as many as exceed the copies that are not inside. The
 * least mean is found by Dinkelbach's method.
 *
 * Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009);
 * Dinkelbach, On nonlinear fractional programming (Management Science 13, 1967).
 */

import { bounds, clamp, NOTHING, valueAt, withEstimate } from "./bounds.js";
import { outcomesOnPlaces, splitCondition, TRUE } from "./conditions.js";
import { answered, byGroup, cellsOf, domainOf, groupsIn, register, requireType, selectedBy } from "./engine.js";
import { fraction } from "./fractions.js";
import { withIntervals } from "./likely.js";
import { rangesLaws } from "./ranges.js";
import { placeOfValue, Refusal } from "./scales.js";
import { columnOf, decodeTable, numbersOf } from "./tables.js";

/** @typedef {import("./bounds.js").Bounds} Bounds */
/** @typedef {import("./engine.js").Cell} Cell */
/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Domain} Nodes */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").PackedTable} PackedTable */

const SAFE = 2 ** 53;

/**
 * The copies of a group that may count, from the best value on.
 * @typedef {{rank: number[], unit: number[], times: number[], inside: number[]}} Copies
 */

/**
 * A group of which a cell selects rows.
 * @typedef {{group: number, hits: number}} Selected
 */

/** @implements {Engine} */
export class SubdomainsEngine {
  /** @param {Packed} packed */
  constructor(packed) {
    this.described = new Map(packed.columns.map((column) => [column.name, column]));
    this.sensitive = /** @type {Described} */ (packed.columns.find(({ role }) => role === "sensitive"));
    this.nodes = /** @type {Nodes} */ (packed.domain);
    this.domain = domainOf(this.sensitive, this.nodes.values);
    this.rows = decodeTable(/** @type {PackedTable} */ (packed.rows));
    const shown = decodeTable(/** @type {PackedTable} */ (packed.shown));
    this.groups = groupsIn(shown);
    this.shown = byGroup(numbersOf(columnOf(shown, "group_id")), this.groups);
    this.node = numbersOf(columnOf(shown, "node"));
    this.times = numbersOf(columnOf(shown, "count"));
    this.sizes = this.copies(this.times);
    this.byGroup = byGroup(numbersOf(columnOf(this.rows, "group_id")), this.groups);
    const largest = Math.max(0, ...endsOf(this.domain.units).map((unit) => Math.abs(Number(unit))));
    const copies = this.sizes.reduce((sum, size) => sum + size, 0);
    this.adds = largest * copies < SAFE;
    this.units = this.domain.units.map(Number);
  }

  /** @param {string} column @returns {string | undefined} */
  bundleOf(column) {
    return column === this.sensitive.name ? "0" : undefined;
  }

  /**
   * @param {Int32Array} numbers one per shown subdomain
   * @returns {Float64Array} their sum in each group
   */
  copies(numbers) {
    const sums = new Float64Array(this.groups);
    for (let group = 0; group < this.groups; group += 1) {
      for (let place = this.shown.start[group]; place < this.shown.start[group + 1]; place += 1) {
        sums[group] += numbers[this.shown.order[place]];
      }
    }
    return sums;
  }

  /** @param {(rank: number) => number} numberOf a value @returns {number[]} its mean in each subdomain */
  expectedOf(numberOf) {
    return expectedOfNodes(this.nodes, numberOf);
  }

  /** @param {Part} part @returns {Map<string, Cell>} */
  ask(part) {
    const { onRows, matching } = splitCondition(part.condition, (column) => this.bundleOf(column));
    const cells = cellsOf(this.rows, part.by, onRows, this.described);
    if (part.column !== null && part.column !== this.sensitive.name) {
      throw new Refusal(
        `On this page ${part.aggregate.toUpperCase()} is about ${this.sensitive.name} alone, whose values have bounds`,
      );
    }
    if (part.aggregate === "median") {
      throw new Refusal("MEDIAN has no bounds in a release that shows ranges of sensitive values. Use AVG, MIN or MAX");
    }
    if (part.column !== null) {
      requireType(part.aggregate, this.sensitive);
    }
    if (["sum", "avg"].includes(part.aggregate) && !this.adds) {
      throw new Refusal("Sums of so large numbers need the command");
    }
    const condition = matching.get("0");
    const places = this.nodes.values.map((value) => placeOfValue(this.sensitive, value));
    const outcomes = condition && outcomesOnPlaces(condition, this.sensitive, places);
    const chosen = Uint8Array.from(places, (_, rank) => Number(!outcomes || outcomes[rank] === TRUE));
    const limits = new Limits(this, chosen);
    const selected = selectedBy(cells, this.byGroup).map(({ groups, hits }) =>
      Array.from(groups, (group, place) => ({ group, hits: hits[place] })),
    );
    return answered(cells.keys, (place) => limits.bound(part, selected[place], part.by.length > 0));
  }
}

/** @param {bigint[]} units ascending @returns {bigint[]} the first and the last */
const endsOf = (units) => [...units.slice(0, 1), ...units.slice(-1)];

/** The subdomains of groups, narrowed to the values that a condition chooses. */
class Limits {
  /** @param {SubdomainsEngine} engine @param {Uint8Array} chosen by rank */
  constructor(engine, chosen) {
    this.engine = engine;
    const { order, first, last } = engine.nodes;
    const narrowed = first.map((from, node) => {
      let [least, greatest, number] = [Infinity, -1, 0];
      for (let place = from; place <= last[node]; place += 1) {
        if (chosen[order[place]]) {
          least = Math.min(least, order[place]);
          greatest = Math.max(greatest, order[place]);
          number += 1;
        }
      }
      return { least, greatest, inside: number === last[node] - from + 1 };
    });
    this.some = Uint8Array.from(engine.node, (node) => Number(narrowed[node].greatest >= 0));
    this.able = engine.copies(engine.times.map((times, entry) => times * this.some[entry]));
    this.inside = engine.copies(engine.times.map((times, entry) => times * Number(narrowed[engine.node[entry]].inside)));
    this.ends = narrowed;
    this.means = {
      rows: expectedOfNodes(engine.nodes, (rank) => chosen[rank]),
      sums: expectedOfNodes(engine.nodes, (rank) => (chosen[rank] ? engine.units[rank] ?? 0 : 0)),
    };
    /** @type {Map<string, Copies>} */
    this.known = new Map();
  }

  /**
   * @param {Part} part
   * @param {Selected[]} selected
   * @param {boolean} grouped
   * @returns {Bounds | null}
   */
  bound(part, selected, grouped) {
    let [least, most] = [0, 0];
    for (const pair of selected) {
      least += this.sure(pair);
      most += Math.min(pair.hits, this.able[pair.group]);
    }
    if (grouped && !most) {
      return null;
    }
    if (part.column === null) {
      const expected = clamp(this.expected(selected, this.means.rows), fraction(least), fraction(most));
      return withEstimate(bounds(fraction(least), fraction(most), expected));
    }
    if (!most) {
      return NOTHING;
    }
    const result = this.ofValues(part, selected);
    return withEstimate({ ...result, mayBeEmpty: least < 1 }, this.engine.sensitive.type);
  }

  /** @param {Selected} pair the least number of selected rows that count */
  sure({ group, hits }) {
    return Math.max(hits - (this.engine.sizes[group] - this.inside[group]), 0);
  }

  /** @param {Selected[]} selected @param {number[]} ofNodes */
  expected(selected, ofNodes) {
    const { engine } = this;
    let sum = 0;
    for (const { group, hits } of selected) {
      let own = 0;
      for (let place = engine.shown.start[group]; place < engine.shown.start[group + 1]; place += 1) {
        const entry = engine.shown.order[place];
        own += ofNodes[engine.node[entry]] * engine.times[entry];
      }
      sum += (hits * own) / engine.sizes[group];
    }
    return sum;
  }

  /** @param {Part} part @param {Selected[]} selected @returns {Bounds} */
  ofValues(part, selected) {
    const { domain } = this.engine;
    const last = domain.values.length - 1;
    if (part.aggregate === "min") {
      return bounds(
        valueAt(domain, this.outer(selected, 1)),
        valueAt(domain, last - this.inner(selected, -1)),
      );
    }
    if (part.aggregate === "max") {
      return bounds(
        valueAt(domain, this.inner(selected, 1)),
        valueAt(domain, last - this.outer(selected, -1)),
      );
    }
    const scale = 10n ** BigInt(domain.digits);
    const [rows, sums] = [this.expected(selected, this.means.rows), this.expected(selected, this.means.sums)];
    if (part.aggregate === "sum") {
      const [low, high] = [this.leastSum(selected, 1), -this.leastSum(selected, -1)].map((sum) => fraction(BigInt(sum), scale));
      return bounds(low, high, clamp(sums / 10 ** domain.digits, low, high));
    }
    const [least, greatest] = [this.leastMean(selected, 1), this.leastMean(selected, -1)];
    const low = fraction(BigInt(least.sum), scale * BigInt(least.rows));
    const high = fraction(BigInt(-greatest.sum), scale * BigInt(greatest.rows));
    return bounds(low, high, rows > 0 ? clamp(sums / rows / 10 ** domain.digits, low, high) : null);
  }

  /**
   * @param {number} group
   * @param {1 | -1} sign 1 from below, -1 from above: then ranks and units are turned
   * @returns {Copies}
   */
  copiesOf(group, sign) {
    const key = `${sign * (group + 1)}`;
    const earlier = this.known.get(key);
    if (earlier) {
      return earlier;
    }
    const { engine } = this;
    const last = engine.nodes.values.length - 1;
    const entries = [];
    for (let place = engine.shown.start[group]; place < engine.shown.start[group + 1]; place += 1) {
      const entry = engine.shown.order[place];
      if (this.some[entry]) {
        const { least, greatest, inside } = this.ends[engine.node[entry]];
        entries.push({ rank: sign > 0 ? least : last - greatest, times: engine.times[entry], inside });
      }
    }
    entries.sort((a, b) => a.rank - b.rank);
    const copies = {
      rank: entries.map(({ rank }) => rank),
      unit: entries.map(({ rank }) => (sign > 0 ? engine.units[rank] : -engine.units[last - rank])),
      times: entries.map(({ times }) => times),
      inside: entries.map(({ times, inside }) => (inside ? times : 0)),
    };
    this.known.set(key, copies);
    return copies;
  }

  /**
   * The rank of the best value that may count.
   * @param {Selected[]} selected
   * @param {1 | -1} sign
   */
  outer(selected, sign) {
    return selected.reduce(
      (best, { group }) => Math.min(best, this.copiesOf(group, sign).rank[0] ?? Infinity),
      Infinity,
    );
  }

  /**
   * The rank of the worst value if as few rows count as possible, with the best values they can.
   * @param {Selected[]} selected
   * @param {1 | -1} sign
   */
  inner(selected, sign) {
    let worst = -1;
    for (const pair of selected) {
      let sure = this.sure(pair);
      const { rank, inside } = this.copiesOf(pair.group, sign);
      for (let place = 0; sure > 0; place += 1) {
        sure -= inside[place];
        worst = inside[place] ? Math.max(worst, rank[place]) : worst;
      }
    }
    return worst < 0 ? this.outer(selected, sign) : worst;
  }

  /** @param {Selected[]} selected @param {1 | -1} sign */
  leastSum(selected, sign) {
    const { sum, rows } = this.best(selected, sign, 0);
    return rows ? sum : this.alone(selected, sign);
  }

  /** @param {Selected[]} selected @param {1 | -1} sign the best value, in units */
  alone(selected, sign) {
    const { units } = this.engine;
    const rank = this.outer(selected, sign);
    return sign > 0 ? units[rank] : -units[units.length - 1 - rank];
  }

  /** @param {Selected[]} selected @param {1 | -1} sign */
  leastMean(selected, sign) {
    if (!selected.some((pair) => this.sure(pair))) {
      return { sum: this.alone(selected, sign), rows: 1 };
    }
    let mean = this.best(selected, sign, 0);
    for (;;) {
      const next = this.best(selected, sign, Math.ceil(mean.sum / mean.rows));
      if (BigInt(next.sum) * BigInt(mean.rows) >= BigInt(mean.sum) * BigInt(next.rows)) {
        return mean;
      }
      mean = next;
    }
  }

  /**
   * The sum and the number of values if all below a limit count that can, and others if they must.
   * @param {Selected[]} selected
   * @param {1 | -1} sign
   * @param {number} limit in units
   */
  best(selected, sign, limit) {
    let [sum, rows] = [0, 0];
    for (const pair of selected) {
      const { unit, times, inside } = this.copiesOf(pair.group, sign);
      let [free, forced] = [pair.hits, this.sure(pair)];
      for (let place = 0; place < unit.length; place += 1) {
        let taken = 0;
        if (unit[place] < limit) {
          taken = Math.min(free, times[place]);
          free -= taken;
          forced -= inside[place];
        } else if (forced > 0) {
          taken = Math.min(forced, inside[place]);
          forced -= inside[place];
        }
        sum += unit[place] * taken;
        rows += taken;
      }
    }
    return { sum, rows };
  }
}

/**
 * The expected mean of a number in each subdomain: values are weighted as in the target, and equally
 * below a node of weight 0.
 * @param {Nodes} nodes
 * @param {(rank: number) => number} numberOf
 * @returns {number[]}
 */
function expectedOfNodes({ order, first, last, parent, weight }, numberOf) {
  const means = first.map((from, node) => (from === last[node] ? numberOf(order[from]) : 0));
  const parts = new Float64Array(first.length);
  const heavy = new Float64Array(first.length);
  parent.forEach((above, node) => {
    if (above >= 0) {
      parts[above] += 1;
      heavy[above] += weight[node];
    }
  });
  // a node stands before those below it
  for (let node = first.length - 1; node >= 0; node -= 1) {
    const above = parent[node];
    if (above >= 0) {
      means[above] += (means[node] * (heavy[above] ? weight[node] : 1)) / (heavy[above] || parts[above]);
    }
  }
  return means;
}

register("subdomains", (packed) => withIntervals(packed, new SubdomainsEngine(packed), rangesLaws));
