/** The question line of a page: it reads the tables that the page holds, and shows bounds. */

import { rangedColumns, spansOf } from "./accuracy.js";
import { keyText, openRelease } from "./asking.js";
import { asNumber, isFraction } from "./bounds.js";
import { controlsOf } from "./controls.js";
import { choice, draw, folded, headOf, make, named, note, optionsOf } from "./elements.js";
import { approximate, decimalsOf, greater, lesser, ZERO } from "./fractions.js";
import { identifier, languageOf } from "./language.js";
import { fetchRecord, measuredText, recordText } from "./record.js";
import { notesOn } from "./notes.js";
import { isNumber, Mistake, Refusal } from "./scales.js";
import {
  accuracyText, boundsText, commandOf, estimateText, inPercent, likelyText, linkOf, placeOn, programOf, queryIn,
  reasonsOf, shareText, visible,
} from "./words.js";

/** @typedef {import("./asking.js").AnswerRow} AnswerRow */
/** @typedef {import("./asking.js").Release} Release */
/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./fractions.js").Fraction} Fraction */
/** @typedef {import("./tables.js").Packed} Packed */

const MOST_LINES = 500;
const PAINTED = 40; // milliseconds, after which bounds are on the screen
const LIKELY = "Likely interval (95 %)";
const TESTS = { "=": "equal to", "<>": "not equal to", "<": "less than", "<=": "at most", ">": "more than", ">=": "at least" };
const MOST_OFFERED = 200;

/** @param {import("./tables.js").Type} type @param {string} text @returns {string} as a query writes it */
function constantOf(type, text) {
  if (isNumber(type) || type === "boolean") {
    return text;
  }
  const typed = type === "string" ? "" : `${type.toUpperCase()} `;
  return `${typed}'${text.replaceAll("'", "''")}'`;
}

/** The question line, and the answer below it. */
class QuestionLine {
  /** @param {HTMLElement} place @param {Packed} packed */
  constructor(place, packed) {
    this.packed = packed;
    this.units = place.dataset.units ?? "rows";
    this.language = languageOf(packed);
    this.controls = controlsOf(packed, this.units);
    /** @type {Release | null} */
    this.release = null;
    /** @type {string | null} the query that was asked last */
    this.query = null;
    this.sql = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: "3", spellcheck: "false" }));
    this.answer = make("div", { role: "status", "aria-live": "polite" });
    const form = make(
      "form",
      { class: "question" },
      ...this.controls.labels,
      make("button", { type: "submit" }, "Answer"),
    );
    const builder = this.builder(packed.columns.map(({ name }) => name));
    const text = make(
      "form",
      { class: "question" },
      make("label", { class: "wide" }, make("span", {}, "The same in SQL"), this.sql),
      make("button", { type: "submit" }, "Answer this query"),
    );
    form.addEventListener("submit", (event) => this.submit(event, () => this.askLine()));
    text.addEventListener("submit", (event) => this.submit(event, () => void this.ask(this.sql.value)));
    form.addEventListener("input", () => this.change());
    const sql = folded("Write SQL", text);
    place.append(form, this.answer, builder, sql, this.accuracies());
    place.hidden = false;
    this.change();
    window.addEventListener("hashchange", () => this.askFragment());
    this.askFragment();
  }

  /** @returns {Promise<Release>} opened when the first question is asked */
  async open() {
    if (this.release === null) {
      if (this.packed.fetched) {
        this.answer.textContent = "Reading the published tables …";
      }
      this.release = await openRelease(this.packed);
      this.answer.replaceChildren();
    }
    return this.release;
  }

  /** Write the query that the controls say, and mark the answer as one to another question. */
  change() {
    this.controls.offer();
    this.sql.value = this.controls.sql();
    this.answer.classList.toggle("stale", this.sql.value !== this.query);
  }

  /**
   * Controls that add a comparison to the condition.
   * @param {string[]} names
   * @returns {HTMLElement}
   */
  builder(names) {
    const column = choice("Column", named(names));
    const test = choice("is", TESTS);
    const value = /** @type {HTMLInputElement} */ (make("input", { type: "text", autocomplete: "off", list: "question-values" }));
    const list = make("datalist", { id: "question-values" });
    const button = make("button", { type: "button" }, "Add to the condition");
    button.addEventListener("click", () => {
      const described = this.packed.columns.find(({ name }) => name === column.select.value);
      const text = value.value.trim().replace(/^'(.*)'$/, "$1");
      if (!described || !text) {
        value.focus();
        return;
      }
      const part = `${identifier(described.name)} ${test.select.value} ${constantOf(described.type, text)}`;
      const field = this.controls.placeOf(described);
      const before = field.value.trim();
      const first = /\bor\b/i.test(before) ? `(${before})` : before;
      field.value = before ? `${first} AND ${part}` : part;
      value.value = "";
      this.change();
    });
    const offer = () => {
      const values = this.release?.valuesOf(column.select.value) ?? [];
      list.replaceChildren(...values.slice(0, MOST_OFFERED).map((text) => make("option", { value: visible(String(text)) })));
    };
    value.addEventListener("focus", () => void this.open().then(offer, () => {}));
    const fields = make(
      "div",
      { class: "question" },
      column.label,
      test.label,
      make("label", {}, make("span", {}, "value"), value),
      list,
      button,
    );
    return folded("Build a condition", fields);
  }

  /** @returns {HTMLElement} what measures the accuracy of the chosen aggregate, when it is opened */
  accuracies() {
    const result = make("div", {});
    const by = choice("over ranges of", {});
    const button = make("button", { type: "button" }, "Measure");
    const measure = async () => {
      const question = this.controls.ofEveryone(this.language.read(this.controls.sql(), this.packed));
      const spans = spansOf(await this.open(), question, by.select.value);
      result.replaceChildren(...accuracyFigure(spans, this.controls.caption(question), by.select.value));
    };
    button.addEventListener("click", () => void this.refuseOr(measure, result));
    const controls = make("div", { class: "question" }, by.label, button);
    const details = folded(
      "How accurate are answers?",
      make("p", {}, `Asks the question above about many ranges of a column, short and long, without ${this.controls.leftOut}. Accuracy is half the width of the bounds, relative to their middle. A dot is one range, a line the median.`),
      controls,
      result,
    );
    const offer = async () => {
      const columns = rangedColumns(await this.open()).map(({ name }) => name);
      by.select.append(...optionsOf(named(columns)));
    };
    details.addEventListener("toggle", () => void this.refuseOr(offer, result), { once: true });
    return details;
  }

  /** @param {() => Promise<void>} act @param {HTMLElement} place where a refusal is shown */
  async refuseOr(act, place) {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Refusal)) {
        throw error;
      }
      place.replaceChildren(note(`${visible(error.message)}.`));
    }
  }

  /** @param {Event} event @param {() => void} ask */
  submit(event, ask) {
    event.preventDefault();
    ask();
  }

  /** Ask what the controls say. */
  askLine() {
    void this.ask(this.controls.sql());
  }

  /** Ask the query in the page's address, if there is one. */
  askFragment() {
    const query = queryIn(window.location.hash);
    if (query !== null && query !== this.query) {
      void this.ask(query);
      this.answer.scrollIntoView({ block: "nearest" });
    }
  }

  /** @param {string} sql */
  async ask(sql) {
    this.sql.value = sql;
    this.query = sql;
    try {
      const question = this.language.read(sql, this.packed);
      const release = await this.open();
      const sooner = release.sooner(question);
      const rows = sooner ?? release.answer(question);
      this.controls.adopt(question);
      this.controls.offer();
      this.query = this.language.write(question, this.packed);
      this.sql.value = this.query;
      this.answer.classList.remove("stale");
      this.show(question, rows, this.query, sooner !== null);
      if (sooner) {
        const { query } = this;
        await new Promise((resolve) => window.setTimeout(resolve, PAINTED));
        if (query === this.query) {
          this.show(question, release.answer(question), query);
        }
      }
    } catch (error) {
      if (!(error instanceof Refusal)) {
        throw error;
      }
      this.answer.classList.remove("stale");
      this.refuse(error, sql);
    }
    window.history.replaceState(null, "", linkOf(window.location.href, this.query));
  }

  /** @param {Refusal} reason @param {string} sql */
  refuse(reason, sql) {
    const words = `${visible(reason.message)}.`;
    if (reason instanceof Mistake) {
      this.answer.replaceChildren(note(words));
      return;
    }
    this.answer.replaceChildren(
      note(make("strong", {}, "Not answered on this page: "), words),
      make("p", {}, "The command answers more questions:"),
      make("pre", { tabindex: "0" }, make("code", {}, visible(commandOf(sql)))),
    );
  }

  /** @param {Question} question @param {AnswerRow[]} rows @param {string} sql @param {boolean} [waits] for intervals */
  show(question, rows, sql, waits = false) {
    const isShare = question.aggregate === "share";
    const first = rows.slice(0, MOST_LINES);
    const shown = isShare ? first.map((row) => ({ ...row, bounds: inPercent(row.bounds) })) : first;
    const ends = shown.flatMap(({ bounds }) => [bounds.lower, bounds.upper].filter(isFraction));
    const decimals = isShare ? 1 : decimalsOf(ends);
    const low = ends.reduce(lesser, ZERO);
    const high = ends.reduce(greater, ZERO);
    const likely = waits || shown.some(({ bounds }) => bounds.likely?.interval);
    const head = make(
      "tr",
      {},
      ...question.by.map((name) => headOf(visible(name))),
      headOf(isShare ? "Certain bounds in %, and accuracy" : "Certain bounds, and accuracy"),
      ...(likely ? [headOf(LIKELY)] : []),
      headOf("Estimate", { class: "number" }),
      ...(ends.length ? [headOf("On one scale from 0")] : []),
    );
    const lines = shown.map((row) => this.line(row, decimals, ends.length ? [low, high] : null, likely, waits));
    const table = make(
      "table",
      { class: "bars stacked" },
      make("caption", {}, `${this.controls.caption(question)}${rows.length > MOST_LINES ? ` (the first ${MOST_LINES} of ${rows.length.toLocaleString("en")} lines)` : ""}`),
      make("thead", {}, head),
      make("tbody", {}, ...lines),
    );
    const notes = this.release ? notesOn(this.release, this.controls.conditionsOf(question)) : [];
    if (question.by.length > 2) {
      notes.push("The line above shows the first two of the columns that this answer is by.");
    }
    const some = shown.some(({ bounds }) => bounds.lower !== null);
    this.answer.replaceChildren(
      ...notes.map((text) => note(visible(text))),
      make("div", { class: "scroll", role: "group", "aria-label": "Answer", tabindex: "0" }, rows.length ? table : make("p", {}, `No published ${this.units} can be in this answer.`)),
      ...(some ? [this.trust(likely)] : []),
      ...(waits ? [] : this.withoutLikely(shown.map(({ bounds }) => bounds), likely)),
      this.copies(sql),
    );
  }

  /**
   * @param {AnswerRow} row
   * @param {number} decimals
   * @param {[Fraction, Fraction] | null} scale
   * @param {boolean} likely whether some line has a likely interval
   * @param {boolean} waits whether it is not known yet, nor is the estimate
   */
  line({ key, bounds }, decimals, scale, likely, waits) {
    const cells = [
      ...key.map((value) => make("th", { scope: "row" }, visible(keyText(value)))),
      make(
        "td",
        { "data-label": "Certain bounds" },
        make("span", { class: "role" }, boundsText(bounds, decimals)),
        " ",
        make("span", { class: "meaning" }, accuracyText(bounds)),
      ),
      ...(likely ? [make("td", { class: "role", "data-label": LIKELY }, waits ? "…" : likelyText(bounds, decimals))] : []),
      make("td", { class: "number", "data-label": "Estimate" }, waits ? "…" : estimateText(bounds, decimals)),
    ];
    const known = waits ? { ...bounds, estimate: null } : bounds;
    return make("tr", {}, ...cells, ...(scale ? [make("td", { class: "bar" }, bar(known, scale))] : []));
  }

  /** @param {boolean} likely @returns {HTMLElement} on what bounds and intervals depend */
  trust(likely) {
    return make(
      "p",
      { class: "meaning" },
      "The truth lies within these bounds, for certain, if these files are genuine: ",
      make("a", { href: "#verify" }, "verify them"),
      ". An estimate, the line across a bar, guarantees nothing.",
      ...(likely ? [
        " Neither does a likely interval, the band in a bar: of random questions of its kind, at least 95 % have their truth within it. The publisher measured on the original how wide it has to be: ",
        make("a", { href: "#likely" }, "likely intervals"),
        ".",
      ] : []),
    );
  }

  /**
   * @param {import("./bounds.js").Bounds[]} answers
   * @param {boolean} some whether some line has a likely interval
   * @returns {HTMLElement[]} why others have none
   */
  withoutLikely(answers, some) {
    const reasons = this.packed.likely ? reasonsOf(answers, this.packed.likely.length > 0) : [];
    return reasons.length ? [make("p", { class: "meaning" }, `${some ? "Lines without a" : "No"} likely interval: ${reasons.join("; ")}.`)] : [];
  }

  /** @param {string} sql @returns {HTMLElement} */
  copies(sql) {
    const texts = {
      "Copy link": linkOf(window.location.href, sql),
      "Copy SQL": sql,
      "Copy command": commandOf(sql),
      "Copy Python": programOf(sql),
    };
    const buttons = Object.entries(texts).map(([called, text]) => {
      const button = make("button", { type: "button" }, called);
      button.addEventListener("click", () => copy(text, button, called));
      return button;
    });
    return make("p", { class: "question" }, ...buttons);
  }
}

/**
 * Copy a text, also from a page on a disk, where browsers may not allow the newer way.
 * @param {string} text
 * @param {HTMLElement} button
 * @param {string} called
 */
async function copy(text, button, called) {
  const done = () => {
    button.textContent = "Copied";
    window.setTimeout(() => {
      button.textContent = called;
    }, 1500);
  };
  try {
    await window.navigator.clipboard.writeText(text);
    done();
  } catch {
    const area = /** @type {HTMLTextAreaElement} */ (make("textarea", {}));
    area.value = text;
    button.after(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (copied) {
      done();
    }
  }
}

/**
 * Bounds as a bar, with the likely interval as a band within it and the estimate as a line across it.
 * @param {import("./bounds.js").Bounds} bounds
 * @param {[Fraction, Fraction]} scale
 * @returns {SVGElement}
 */
function bar({ lower, upper, estimate, likely }, [low, high]) {
  /** @param {string} name @param {string} d */
  const path = (name, d) => draw("path", { class: name, d });
  const paths = [path("body", "M0 4H1000V6H0z")];
  if (isFraction(lower) && isFraction(upper)) {
    const start = Math.min(placeOn(low, high, lower), 994);
    const length = Math.max(placeOn(low, high, upper) - start, 6);
    paths.push(path("inner", `M${start} 0h${length}V10h-${length}z`));
    if (likely?.interval) {
      const [first, last] = likely.interval.map((end) => placeOn(low, high, end));
      paths.push(path("likely", `M${first} 3V7H${last}V3z`));
    }
    const near = asNumber(estimate);
    if (near !== null && length > 6) {
      const [least, most] = [low, high].map(approximate);
      paths.push(path("ruler", `M${Math.round(((near - least) / (most - least)) * 1000)} 0V10`));
    }
  }
  return draw("svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...paths);
}

/**
 * A chart of the accuracy over ranges of each length, and the medians as a table.
 * @param {import("./accuracy.js").Span[]} spans
 * @param {string} what the question in words
 * @param {string} over the column
 * @returns {Node[]}
 */
function accuracyFigure(spans, what, over) {
  if (!spans.length) {
    return [make("p", {}, "No range has an answer.")];
  }
  /** @param {number} share */
  const height = (share) => 200 - Math.round(share * 180);
  const axes = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    draw("path", { class: share ? "grid" : "axis", d: `M70 ${height(share)}H475` }),
    draw("text", { x: 64, y: height(share) + 4, "text-anchor": "end" }, share === 1 ? "≥ 100 %" : share ? `±${share * 100} %` : "exact"),
  ]);
  const dots = spans.flatMap(({ share, accuracies, median }, place) => {
    const x = 110 + place * 80;
    return [
      ...accuracies.map((accuracy) => draw("circle", { class: "body", cx: x, cy: height(accuracy), r: 4 })),
      draw("path", { class: "ruler", d: `M${x - 14} ${height(median)}h28` }),
      draw("text", { x, y: 222, "text-anchor": "middle" }, `${share * 100} %`),
    ];
  });
  const svg = draw("svg", { viewBox: "0 0 480 240", class: "plot", "aria-hidden": "true" }, ...axes, ...dots);
  const rows = spans.map(({ share, median }) =>
    make("tr", {}, make("th", { scope: "row" }, `${share * 100} %`), make("td", { class: "number" }, shareText(median))),
  );
  const head = make("tr", {}, headOf("Length of the range"), headOf("Median accuracy", { class: "number" }));
  const caption = make("caption", {}, `${what} over ranges of ${visible(over)}; lengths as shares of the way from its least to its greatest value`);
  return [make("figure", { class: "narrow" }, svg), make("table", { class: "narrow" }, caption, make("thead", {}, head), make("tbody", {}, ...rows))];
}

/** Put the page's address on paper, where it has one that others can open. */
function printAddress() {
  if (/^https?:$/.test(window.location.protocol)) {
    document.querySelector(".on-paper")?.append(" ", visible(window.location.href.split("#")[0]));
  }
}

/** Show above the page's content what the record of its line says, which nothing here verifies. */
async function showRecord() {
  const recorded = await fetchRecord(window.location);
  const main = document.querySelector("main");
  if (recorded === null || main === null) {
    return;
  }
  const link = make("a", { href: "../index.html" }, "All versions");
  const lines = recorded.accuracy.map((measured) => make("li", {}, measuredText(measured)));
  const measured = folded("Accuracy that the publisher measured", make("ul", {}, ...lines));
  main.prepend(
    make(
      "div",
      { class: recorded.current === recorded.version ? "about" : "note", role: "note" },
      make("p", {}, recordText(recorded), " ", link, ". The line's record says so; this page does not verify it."),
      ...(lines.length ? [measured] : []),
    ),
  );
}

const place = document.getElementById("question-line");
const data = document.currentScript?.previousElementSibling;
if (place !== null && data instanceof HTMLScriptElement && data.id === "release-data") {
  new QuestionLine(place, /** @type {Packed} */ (JSON.parse(data.textContent ?? "")));
  printAddress();
  void showRecord();
}
