/** Compare the syntax of two scripts: the path of TypeScript's library, then those of the scripts. */

const { readFileSync } = require("node:fs");

const [library, first, other] = process.argv.slice(2);
const typescript = require(library);

const { SyntaxKind } = typescript;

/** Whether a node is one of the signs that scripts leave out: see `minify`. */
function isNeedless({ kind, parent }, place, siblings) {
  const isLast = place === siblings.length - 1;
  const isParenthesis = kind === SyntaxKind.OpenParenToken || kind === SyntaxKind.CloseParenToken;
  return (
    kind === SyntaxKind.SemicolonToken ||
    (kind === SyntaxKind.CommaToken && isLast) ||
    (isParenthesis && parent.kind === SyntaxKind.ArrowFunction && parent.parameters.length === 1)
  );
}

/** The kinds of all nodes but needless ones, and the texts of those without others within. */
function nodesOf(path) {
  const file = typescript.createSourceFile("a.js", readFileSync(path, "utf8"), 99, true);
  const nodes = [];
  const visit = (node, depth) => {
    const children = node.getChildren(file).filter((child, place, all) => !isNeedless(child, place, all));
    const isConstant = node.kind === SyntaxKind.ConstKeyword;
    const [kind, text] = isConstant ? [SyntaxKind.LetKeyword, "let"] : [node.kind, node.getText(file)];
    nodes.push(`${depth} ${kind} ${children.length ? "" : text}`);
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
