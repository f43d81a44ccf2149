export { decompress } from "fzstd";
export { readColumn } from "./node_modules/hyparquet/src/column.js";
export { parquetMetadata, parquetSchema } from "./node_modules/hyparquet/src/metadata.js";
export { getTreePath } from "./node_modules/hyparquet/src/schema.js";
