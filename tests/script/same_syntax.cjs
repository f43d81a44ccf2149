/** Compare the syntax of two scripts: the path of TypeScript's library, then those of the scripts. */

const { readFileSync } = require("node:fs");

const [library, first, other] = process.argv.slice(2);
const typescript = require(library);

/** The kinds of all nodes but semicolons, and the texts of those without others within. */
function nodesOf(path) {
  const file = typescript.createSourceFile("a.js", readFileSync(path, "utf8"), 99, true);
  const nodes = [];
  const visit = (node, depth) => {
    if (node.kind === typescript.SyntaxKind.SemicolonToken) {
      return;
    }
    const children = node.getChildren(file);
    nodes.push(`${depth} ${node.kind} ${children.length ? "" : node.getText(file)}`);
    children.forEach((child) => visit(child, depth + 1));
  };
  visit(file, 0);
  return nodes;
}

const [nodes, others] = [first, other].map(nodesOf);
const place = nodes.findIndex((node, number) => node !== others[number]);
if (place >= 0 || nodes.length !== others.length) {
  process.stdout.write(`${nodes.slice(place, place + 5).join("\n")}\n\n${others.slice(place, place + 5).join("\n")}\n`);
  process.exitCode = 1;
}
