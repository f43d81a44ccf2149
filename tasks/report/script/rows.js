/** The engine of releases that show exact rows beside the values of their group, with likely intervals. */

import { register } from "./engine.js";
import { withIntervals } from "./likely.js";
import { rowsLaws } from "./shuffled.js";
import { RowsEngine } from "./exactrows.js";

register("rows", (packed) => withIntervals(packed, new RowsEngine(packed), rowsLaws));
