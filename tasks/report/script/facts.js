/**
 * Bounds on releases of two related tables whose people have facts, which are shuffled within groups.
 *
 * Questions about people alone are those about exact rows beside the values of their group. Beside
 * related rows, a condition on facts says how many people of a group meet it, and not who: of h people
 * whom all else hits, at least h + f - m and at most min(h, f). Bounds are those of the fewest and of
 * the most such people. `tasks.query.engines.related` has the same.
 */

import {
  boundRelatedOf, exactCount, RELATED, requiredBy, TablesEngine, TablesRelease, withOtherRows,
} from "./apart.js";
import { registerRelease } from "./asking.js";
import { bounds, withEstimate } from "./bounds.js";
import { chanceOf } from "./chances.js";
import { rowsWhere, splitCondition } from "./conditions.js";
import { registerControls, selectSql } from "./controls.js";
import { make } from "./elements.js";
import { answered, cellsOf, GROUP, register, selectedBy } from "./engine.js";
import { Bundle, RowsEngine } from "./exactrows.js";
import { fraction } from "./fractions.js";
import { identifier, registerLanguage } from "./language.js";
import { choicesOf, peopleWith, sharedRows, totalOf } from "./related.js";
import { isNumber, Mistake } from "./scales.js";
import { decodeTable } from "./tables.js";
import { TablesControls } from "./twocontrols.js";
import { TWO_TABLES } from "./twotables.js";
import { visible } from "./words.js";

/** @typedef {import("./apart.js").Required} Required */
/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./asking.js").Scope} Scope */
/** @typedef {import("./bounds.js").Bounds} Bounds */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Cell} Cell */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./engine.js").Selected} Selected */
/** @typedef {import("./related.js").Ends} Ends */
/** @typedef {import("./related.js").RowChoices} RowChoices */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").PackedTable} PackedTable */
/** @typedef {import("./tables.js").TwoTables} TwoTables */

const FACT = "fact ";
const OF_FACTS = ["factavg", "factsum"];

/**
 * People of whom some may be hit: the fewest and the most of each group, and the expected number.
 * @typedef {{fewest: Selected, most: Selected, expected: Float64Array}} HitPeople
 */

/** @param {Packed} packed @returns {PackedTable[]} the facts of each group, by those that stand together */
const tablesOfFacts = (packed) => /** @type {PackedTable[]} */ (packed.values).slice(1);

/** @param {Packed} packed @returns {Map<string, number>} the bundle of each fact */
const bundlesOf = (packed) =>
  new Map(
    tablesOfFacts(packed).flatMap(({ columns }, place) =>
      packed.columns.filter(({ name }) => name !== GROUP && Object.hasOwn(columns, name)).map(({ name }) => [name, place]),
    ),
  );

class FactsEngine extends TablesEngine {
  /** @param {Packed} packed */
  constructor(packed) {
    super(packed);
    const values = tablesOfFacts(packed);
    this.bundles = values.map((table) => new Bundle(decodeTable(table), this.numbers.people.length));
    this.alone = new RowsEngine({ ...packed, values });
    this.facts = bundlesOf(packed);
  }

  /** @param {string} column @returns {string | undefined} */
  bundleOf(column) {
    const place = this.facts.get(column);
    return place === undefined || this.related.has(column) ? super.bundleOf(column) : `${FACT}${place}`;
  }

  /** @param {Part} part @returns {Map<string, Cell>} */
  ask(part) {
    if (this.scope.counted === "people" && !this.scope.marks.length) {
      return this.alone.ask(part);
    }
    const { onRows, matching } = splitCondition(part.condition, (column) => this.bundleOf(column));
    const met = this.bundles.flatMap(({ table }, place) => {
      const condition = matching.get(`${FACT}${place}`);
      matching.delete(`${FACT}${place}`);
      return condition === undefined ? [] : [this.bundles[place].counts(rowsWhere(condition, table, this.described))];
    });
    if (!met.length) {
      return super.ask(part);
    }
    const cells = cellsOf(this.people, part.by, onRows, this.described);
    const selected = selectedBy(cells, this.byGroup).map((some) => this.meeting(some, met));
    const bound =
      this.scope.counted === "rows" ? this.boundRowsOf(part, matching.get(RELATED) ?? null) : this.boundPeopleOf(part, matching);
    return answered(cells.keys, (number) => bound(selected[number]));
  }

  /** @param {Selected} selected @param {Int32Array[]} met people of all groups who meet each condition @returns {HitPeople} */
  meeting(selected, met) {
    const [fewest, most] = [selected.hits.slice(), selected.hits.slice()];
    const expected = Float64Array.from(selected.hits);
    selected.groups.forEach((group, place) => {
      const size = this.numbers.people[group];
      for (const number of met) {
        fewest[place] += number[group] - size;
        most[place] = Math.min(most[place], number[group]);
        expected[place] *= number[group] / Math.max(size, 1);
      }
      fewest[place] = Math.max(fewest[place], 0);
    });
    return { fewest: { ...selected, hits: fewest }, most: { ...selected, hits: most }, expected };
  }

  /** @param {HitPeople} hit @param {Int32Array} rows of all groups @returns {import("./related.js").Hits[]} */
  endsOf({ fewest, most }, rows) {
    return [fewest, most].map((selected) => this.hitsOf(selected, rows));
  }

  /**
   * @param {Part} part
   * @param {Condition | null} condition on related rows
   * @returns {(hit: HitPeople) => Bounds}
   */
  boundRowsOf(part, condition) {
    const rows = this.rowsInGroups(condition);
    if (part.people) {
      return (hit) => withEstimate(this.peopleWho(hit, rows, 1, false).bounds);
    }
    if (part.column !== null) {
      const units = this.units(part, condition);
      return (hit) => {
        const [fewest, most] = this.endsOf(hit, rows);
        return boundRelatedOf(part.aggregate, units, hit.most.groups, choicesBetween(fewest, most), most, hit.expected);
      };
    }
    return (hit) => {
      const [fewest, most] = this.endsOf(hit, rows);
      const expected = most.hitRows.reduce(
        (sum, number, place) => sum + (number * hit.expected[place]) / Math.max(most.people[place], 1),
        0,
      );
      const [least, greatest] = [sharedRows(fewest).least, sharedRows(most).greatest];
      return withEstimate(bounds(fraction(totalOf(least)), fraction(totalOf(greatest)), expected));
    };
  }

  /**
   * @param {Part} part
   * @param {Map<string, Condition>} matching
   * @returns {(hit: HitPeople) => Bounds} bounds of the number of people who meet all
   */
  boundPeopleOf(part, matching) {
    if (part.column !== null) {
      throw new Mistake(withOtherRows);
    }
    const required = requiredBy(matching, this.scope);
    if (required === null) {
      return () => exactCount(0);
    }
    const rows = required.map(({ mark }) => this.rowsInGroups(mark.condition));
    return (hit) => {
      const each = required.map(({ mark, negated }, place) => this.peopleWho(hit, rows[place], mark.times, negated));
      if (each.length === 1) {
        return withEstimate(each[0].bounds);
      }
      let [low, high] = [0, 0];
      hit.most.hits.forEach((most, place) => {
        const least = each.reduce((sum, { ends }) => sum + ends.least[place], 0);
        low += Math.max(least - (each.length - 1) * hit.fewest.hits[place], 0);
        high += Math.min(most, ...each.map(({ ends }) => ends.greatest[place]));
      });
      const total = hit.expected.reduce((sum, number) => sum + number, 0);
      const expected = each.reduce((product, own) => product * (total ? Number(own.bounds.estimate) / total : 0), total);
      return withEstimate(bounds(fraction(low), fraction(high), Math.min(Math.max(expected, low), high)));
    };
  }

  /**
   * One hit person more is at most one more with so many rows, and at most one more without. So the
   * ends are those of the fewest and of the most hit people.
   * @param {HitPeople} hit
   * @param {Int32Array} rows hit ones of all groups
   * @param {number} times
   * @param {boolean} negated
   * @returns {{ends: Ends, bounds: Bounds}} the people with at least so many rows, or with fewer
   */
  peopleWho(hit, rows, times, negated) {
    const [fewest, most] = this.endsOf(hit, rows);
    const [few, many] = [peopleWith(fewest, times), peopleWith(most, times)];
    const chances = hit.expected.reduce(
      (sum, number, place) =>
        sum + number * chanceOf(times, most.hitRows[place], most.people[place], most.rows[place], most.most[place]),
      0,
    );
    const expected = Math.min(Math.max(chances, totalOf(few.least)), totalOf(many.greatest));
    const total = hit.expected.reduce((sum, number) => sum + number, 0);
    const ends = negated
      ? {
          least: fewest.hitPeople.map((number, place) => number - few.greatest[place]),
          greatest: most.hitPeople.map((number, place) => number - many.least[place]),
        }
      : { least: few.least, greatest: many.greatest };
    const [low, high] = [totalOf(ends.least), totalOf(ends.greatest)];
    const near = Math.min(Math.max(negated ? total - expected : expected, low), high);
    return { ends, bounds: bounds(fraction(low), fraction(high), near) };
  }
}

/**
 * Choices of groups between the fewest and the most hit people: each number is taken as possible, but
 * in groups in which it is certain how many people are hit.
 * @param {import("./related.js").Hits} fewest
 * @param {import("./related.js").Hits} most
 * @returns {RowChoices}
 */
function choicesBetween(fewest, most) {
  const choices = choicesOf(most);
  const [{ least }, { greatest }] = [sharedRows(fewest), sharedRows(most)];
  most.hitPeople.forEach((number, place) => {
    if (fewest.hitPeople[place] !== number) {
      [choices.first.least[place], choices.first.greatest[place]] = [least[place], greatest[place]];
      [choices.second.least[place], choices.second.greatest[place]] = [0, -1];
    }
  });
  return choices;
}

/** The controls for questions about two tables whose people have facts. */
class FactsControls extends TablesControls {
  /** @returns {Record<string, string>} */
  aggregates() {
    const { people } = /** @type {TwoTables} */ (this.packed.tables);
    const { people: all, having, without, ...others } = super.aggregates();
    const some = this.numbers.length;
    const of = `of a fact of ${people}`;
    return { people: all, ...(some ? { factavg: `average ${of}`, factsum: `sum ${of}` } : {}), having, without, ...others };
  }

  /** @returns {string[]} the facts that are numbers */
  get numbers() {
    const facts = bundlesOf(this.packed);
    return this.packed.columns.filter(({ name, type }) => facts.has(name) && isNumber(type)).map(({ name }) => name);
  }

  /** @returns {boolean} whether a fact is added up */
  get isOfFact() {
    return OF_FACTS.includes(this.aggregate.select.value);
  }

  offer() {
    const { columns } = this.tables;
    const ofRows = this.packed.columns.filter(({ name, type }) => columns.includes(name) && isNumber(type)).map(({ name }) => name);
    const [{ select }, offered] = [this.column, this.isOfFact ? this.numbers : ofRows];
    const chosen = select.value;
    select.replaceChildren(...offered.map((name) => make("option", { value: name }, visible(name))));
    select.value = offered.includes(chosen) ? chosen : offered[0] ?? "";
    super.offer();
    if (this.isOfFact) {
      this.column.label.hidden = false;
      this.rows.label.hidden = true;
      for (const choice of [this.by.select, this.also.select]) {
        [...choice.options].filter(({ value }) => columns.includes(value)).forEach((option) => option.remove());
        choice.value = [...choice.options].some(({ value }) => value === choice.value) ? choice.value : "";
      }
    }
  }

  /** @returns {string} */
  sql() {
    if (!this.isOfFact) {
      return super.sql();
    }
    const call = `${this.aggregate.select.value === "factavg" ? "AVG" : "SUM"}(${identifier(this.column.select.value)})`;
    return selectSql(this.keys, call, identifier(this.tables.people), this.where.field.value.trim());
  }

  /** @param {Question} question */
  adopt(question) {
    super.adopt(question);
    const { aggregate, column, by, scope } = question;
    const chosen = `fact${aggregate}`;
    if (/** @type {Scope} */ (scope).counted === "people" && column !== null && this.numbers.includes(column) && OF_FACTS.includes(chosen)) {
      this.aggregate.select.value = chosen;
      this.offer();
      this.column.select.value = column;
      this.adoptKeys(by);
    }
  }
}

register("facts", (packed) => new FactsEngine(packed));
registerRelease("facts", TablesRelease);
registerLanguage("facts", TWO_TABLES);
registerControls("facts", FactsControls);
