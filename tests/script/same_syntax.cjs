/**
 * Compare the syntax of two scripts, of which the first has short names of variables: the path of
 * TypeScript's library, then those of the scripts.
 *
 * A variable's name has to be the same one everywhere, and no other's, also where it gives a
 * property its name. Names that a script does not declare have to stay.
 */

const { readFileSync } = require("node:fs");

const [library, first, other] = process.argv.slice(2);
const typescript = require(library);

const { SyntaxKind } = typescript;
const DECLARING = ["VariableDeclaration", "Parameter", "BindingElement", "FunctionDeclaration", "ClassDeclaration"]
  .map((name) => SyntaxKind[name]);
const NAMED = ["PropertyAccessExpression", "PropertyAssignment", "MethodDeclaration", "GetAccessor", "PropertyDeclaration"]
  .map((name) => SyntaxKind[name]);

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

/** Whether an identifier names a property, and no variable. */
const isProperty = (node, { parent } = node) =>
  (NAMED.includes(parent.kind) && parent.name === node) ||
  (parent.kind === SyntaxKind.BindingElement && parent.propertyName === node);

/** Whether an identifier names a property by the name of its variable: {lower}. */
const isBoth = (node, { parent } = node) =>
  parent.name === node &&
  (parent.kind === SyntaxKind.ShorthandPropertyAssignment ||
    (parent.kind === SyntaxKind.BindingElement &&
      parent.parent.kind === SyntaxKind.ObjectBindingPattern && !parent.propertyName && !parent.dotDotDotToken));

/** The kinds of all nodes but needless ones, and the texts of those without others within. */
function nodesOf(path) {
  const file = typescript.createSourceFile("a.js", readFileSync(path, "utf8"), 99, true);
  const nodes = [];
  const declared = new Set();
  const visit = (node, depth) => {
    const children = node.getChildren(file).filter((child, place, all) => !isNeedless(child, place, all));
    const isConstant = node.kind === SyntaxKind.ConstKeyword;
    const short = node.kind === SyntaxKind.ShorthandPropertyAssignment;
    const kind = isConstant ? SyntaxKind.LetKeyword : short ? SyntaxKind.PropertyAssignment : node.kind;
    const text = isConstant ? "let" : node.getText(file);
    if (kind !== SyntaxKind.Identifier) {
      nodes.push({ node: `${depth} ${kind} ${children.length ? "" : text}` });
    } else if (isProperty(node)) {
      nodes.push({ node: `${depth} property ${text}` });
    } else {
      if (isBoth(node)) {
        nodes.push({ node: `${depth} property ${text}` }, { node: `${depth} ${SyntaxKind.ColonToken} :` });
      }
      nodes.push({ node: `${depth} variable`, name: text });
    }
    if (DECLARING.includes(node.kind) && node.name?.kind === SyntaxKind.Identifier) {
      declared.add(node.name.text);
    }
    children.forEach((child) => visit(child, depth + 1));
  };
  visit(file, 0);
  return { nodes, declared };
}

/** The place of the first difference, or -1. */
function firstDifference(short, long) {
  const [newName, oldName] = [new Map(), new Map()];
  return long.nodes.findIndex(({ node, name }, place) => {
    const own = short.nodes[place];
    if (node !== own?.node) {
      return true;
    }
    if (name === undefined) {
      return false;
    }
    const [now, before] = [newName.get(name) ?? own.name, oldName.get(own.name) ?? name];
    newName.set(name, now);
    oldName.set(own.name, before);
    return now !== own.name || before !== name || (now !== name && !long.declared.has(name));
  });
}

const [short, long] = [first, other].map(nodesOf);
const place = firstDifference(short, long);
if (place >= 0 || short.nodes.length !== long.nodes.length) {
  const around = [short, long].map(({ nodes }) => JSON.stringify(nodes.slice(place - 3, place + 5), null, 1));
  process.stdout.write(`${around.join("\n\n")}\n`);
  process.exitCode = 1;
}
