/** Tables that are too long for a page: read from the Parquet files beside it. */

import { registerReader } from "./asking.js";
import { GROUP } from "./engine.js";
import { comparePlaces, DAY, decimalText, momentText, placeOfValue, Refusal } from "./scales.js";
import { columnOf, decodeTable, numbersOf, ofRows } from "./tables.js";
import { decompress, getTreePath, parquetMetadata, parquetSchema, readColumn } from "./vendor/parquet.js";

/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").PackedColumn} PackedColumn */
/** @typedef {import("./tables.js").PackedTable} PackedTable */
/** @typedef {string | number | boolean} Value */

/**
 * Returns the content of a file beside the page.
 * @typedef {(path: string) => Promise<ArrayBuffer>} Read
 */

const LARGEST_SAFE = 2n ** 53n;
const TEXTS = new TextDecoder();

/**
 * Read the tables of a release that its page only names.
 * @param {Packed} packed
 * @param {Read} read
 * @returns {Promise<Packed>} with all tables
 */
export async function readTables(packed, read) {
  const types = new Map(packed.columns.map((column) => [column.name, column]));
  /** @param {PackedTable} table */
  const fill = (table) => readTable(table, types, read);
  return {
    ...packed,
    rows: packed.rows && (await fill(packed.rows)),
    values: packed.values && (await Promise.all(packed.values.map(fill))),
    admitted: packed.admitted && (await Promise.all(packed.admitted.map(fill))),
    marginals: packed.marginals && (await Promise.all(packed.marginals.map(fill))),
    lineage: packed.lineage && (await fill(packed.lineage)),
    groups: packed.groups && (await fill(packed.groups)),
    shown: packed.shown && (await readShown(packed, fill)),
  };
}

/**
 * Read the subdomains of groups, and find each in the target of its group.
 * @param {Packed} packed of a release that shows subdomains
 * @param {(table: PackedTable) => Promise<PackedTable>} fill
 * @returns {Promise<PackedTable>}
 */
async function readShown({ shown, aims, domain }, fill) {
  const { values, order, first, last, parent } = /** @type {import("./tables.js").Domain} */ (domain);
  const tables = await Promise.all([shown, aims].map((table) => fill(/** @type {PackedTable} */ (table))));
  const [ofGroups, targets] = tables.map(decodeTable);
  /** @type {Map<Value, number>} */
  const places = new Map(order.map((rank, place) => [values[rank], place]));
  /** @param {number} target @param {number} from @param {number} to */
  const keyOf = (target, from, to) => (target * order.length + from) * order.length + to;
  let target = -1;
  const nodes = new Map(
    first.map((from, node) => {
      target += Number(parent[node] < 0);
      return [keyOf(target, from, last[node]), node];
    }),
  );
  const aimed = numbersOf(columnOf(targets, "target"));
  const aim = new Map([...numbersOf(columnOf(targets, GROUP))].map((group, row) => [group, aimed[row]]));
  const [froms, tos] = ["lower", "upper"].map((end) => {
    const column = columnOf(ofGroups, end);
    const own = column.values.map((value) => places.get(value));
    return Array.from(column.codes, (code) => own[code]);
  });
  const found = numbersOf(columnOf(ofGroups, GROUP)).map((group, entry) => {
    const key = keyOf(Number(aim.get(group)), Number(froms[entry]), Number(tos[entry]));
    const node = nodes.get(key);
    if (node === undefined) {
      throw new Refusal("A group has a subdomain that its target lacks. Check the files with sfumato check");
    }
    return node;
  });
  const { group_id: group, count } = tables[0].columns;
  const node = { values: first.map((_, number) => number), bits: 0, codes: "", ready: found };
  return { rows: tables[0].rows, columns: { group_id: group, node, count } };
}

/**
 * @param {PackedTable} table
 * @param {Map<string, Described>} types
 * @param {Read} read
 * @returns {Promise<PackedTable>}
 */
async function readTable(table, types, read) {
  const { files = [], names = [] } = table;
  const buffers = await Promise.all(files.map(read));
  /** @type {Record<string, PackedColumn>} */
  const columns = {};
  let rows = 0;
  for (const name of names) {
    const raw = buffers.flatMap((buffer) => columnOfFile(buffer, name));
    rows = raw.reduce((sum, chunk) => sum + chunk.length, 0);
    const described = types.get(table.like?.[name] ?? name) ?? { name, type: "integer", scale: 0, role: "", nulls: false };
    const labelled = table.labelled?.includes(name) ? { ...described, type: /** @type {const} */ ("string") } : described;
    columns[name] = encode(labelled, raw, rows);
  }
  if (table.once) {
    columns.count = { values: [1], bits: 0, codes: "", ready: new Int32Array(rows) };
  }
  return { rows, columns };
}

/**
 * @param {ArrayBuffer} buffer a Parquet file
 * @param {string} name of a column
 * @returns {ArrayLike<unknown>[]} its values as they are stored, chunk by chunk
 */
function columnOfFile(buffer, name) {
  const metadata = parquetMetadata(buffer);
  const tree = parquetSchema(metadata);
  let start = 0;
  return metadata.row_groups.flatMap((/** @type {any} */ group) => {
    const rows = Number(group.num_rows);
    const chunk = group.columns.find((/** @type {any} */ column) => column.meta_data.path_in_schema[0] === name).meta_data;
    const schemaPath = getTreePath(tree, chunk.path_in_schema);
    const offset = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
    const view = new DataView(buffer.slice(offset, offset + Number(chunk.total_compressed_size)));
    const decoder = {
      ...chunk,
      pathInSchema: chunk.path_in_schema,
      schemaPath,
      element: asStored(schemaPath[schemaPath.length - 1].element),
      parsers: { stringFromBytes: (/** @type {Uint8Array | undefined} */ bytes) => bytes && TEXTS.decode(bytes) },
      compressors: { ZSTD: unpackZstd },
    };
    const { data } = readColumn({ view, offset: 0 }, { groupStart: start, groupRows: rows, selectStart: 0, selectEnd: rows }, decoder);
    start += rows;
    return data;
  });
}

/** @param {Uint8Array} bytes @param {number} length of the result @returns {Uint8Array} */
const unpackZstd = (bytes, length) => decompress(bytes, new Uint8Array(length));

/**
 * @param {any} element of a schema
 * @returns {any} without the meaning of numbers, so that none is rounded; texts stay texts
 */
function asStored(element) {
  const { converted_type: converted, logical_type: logical, ...stored } = element;
  return converted === "UTF8" || logical?.type === "STRING" ? { ...stored, converted_type: "UTF8" } : stored;
}

/**
 * @param {Described} described
 * @param {ArrayLike<any>[]} chunks
 * @param {number} rows
 * @returns {PackedColumn} its different values, ascending, and the code of each row
 */
function encode(described, chunks, rows) {
  /** @type {Map<unknown, number>} */
  const places = new Map();
  /** @type {(Value | null)[]} */
  const values = [];
  const codes = new Int32Array(rows);
  /** @type {any} */
  let latest;
  /** @type {number | undefined} */
  let code;
  let row = 0;
  for (const chunk of chunks) {
    for (let place = 0; place < chunk.length; place += 1, row += 1) {
      const raw = chunk[place] ?? null;
      if (raw !== latest || code === undefined) {
        // maps find numbers sooner than large integers
        const number = typeof raw === "bigint" ? Number(raw) : raw;
        const key = Number.isSafeInteger(number) ? number : raw;
        code = places.get(key);
        if (code === undefined) {
          code = values.length;
          places.set(key, code);
          values.push(raw === null ? null : valueOf(described, raw));
        }
        latest = raw;
      }
      codes[row] = code;
    }
  }
  return inOrder(described, values, codes);
}

/**
 * @param {Described} described
 * @param {any} raw
 * @returns {Value} a value as pages write it
 */
function valueOf({ type, scale }, raw) {
  switch (type) {
    case "integer":
      return typeof raw === "bigint" && (raw >= LARGEST_SAFE || raw <= -LARGEST_SAFE) ? raw.toString() : Number(raw);
    case "decimal":
      return decimalText(raw instanceof Uint8Array ? signed(raw) : BigInt(raw), scale);
    case "date":
      return momentText(BigInt(raw) * DAY).slice(0, 10);
    case "timestamp":
      return momentText(BigInt(raw));
    case "float":
      return raw + 0;
    default:
      return raw;
  }
}

/** @param {Uint8Array} bytes the highest first, in two's complement @returns {bigint} */
function signed(bytes) {
  const number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return bytes[0] & 0x80 ? number - 256n ** BigInt(bytes.length) : number;
}

/**
 * @param {Described} described
 * @param {(Value | null)[]} values perhaps some of them more than once
 * @param {Int32Array} codes
 * @returns {PackedColumn}
 */
function inOrder(described, values, codes) {
  const different = /** @type {Value[]} */ ([...new Set(values.filter((value) => value !== null))]);
  const sorted = different.every((value) => typeof value === "number")
    ? /** @type {Value[]} */ ([...Float64Array.from(/** @type {number[]} */ (different)).sort()])
    : sortedByPlace(described, different);
  const rank = new Map(sorted.map((value, place) => [value, place]));
  const ranks = values.map((value) => rank.get(/** @type {Value} */ (value)) ?? sorted.length);
  return {
    values: sorted,
    bits: 0,
    codes: "",
    nulls: values.includes(null),
    ready: ofRows(codes, Int32Array.from(ranks)),
  };
}

/** @param {Described} described @param {Value[]} values @returns {Value[]} */
function sortedByPlace(described, values) {
  const pairs = values.map((value) => ({ value, place: placeOfValue(described, value) }));
  return pairs.sort((a, b) => comparePlaces(a.place, b.place)).map(({ value }) => value);
}

/**
 * Read a file beside the page over HTTP.
 * @param {string} path
 * @returns {Promise<ArrayBuffer>}
 */
async function fetchFile(path) {
  if (!/^https?:$/.test(window.location.protocol)) {
    throw new Refusal(
      "This release is too large for its page, which reads the files in data/ where a server offers them. Opened from a disk it cannot",
    );
  }
  const answer = await fetch(new URL(path, window.location.href), { redirect: "error" });
  if (!answer.ok) {
    throw new Refusal(`${path} cannot be read (status ${answer.status})`);
  }
  return answer.arrayBuffer();
}

registerReader((packed) => readTables(packed, fetchFile));
