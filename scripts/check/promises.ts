// Finds variables that hold a promise while the code awaits a different promise. If the held promise rejects in the meantime,
// or the awaited promise rejects first, the rejection of the held promise is unhandled. The linter finds only promises that are
// never awaited.

import type {
  AwaitExpression,
  Identifier,
  Node,
  SourceFile,
  VariableDeclaration,
} from "typescript/unstable/ast";
import {
  isAwaitExpression,
  isBindingElement,
  isCallExpression,
  isFunctionLikeDeclaration,
  isIdentifier,
  isPropertyAccessExpression,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";
import { API, type Project } from "typescript/unstable/async";

/** A variable that is initialized without `await`, and first used after an `await`. */
interface Candidate {
  readonly name: Identifier;
  readonly line: number;
}

/** The contents of one function, without nested functions. */
interface Body {
  readonly node: Node;
  readonly awaits: AwaitExpression[];
  readonly declarations: VariableDeclaration[];
}

function bodiesIn(file: SourceFile): readonly Body[] {
  const bodies: Body[] = [];
  const visit = (node: Node, around: Body): void => {
    const own = isFunctionLikeDeclaration(node) ? { node, awaits: [], declarations: [] } : around;
    if (own !== around) bodies.push(own);
    if (isAwaitExpression(node)) own.awaits.push(node);
    if (isVariableDeclaration(node) && node.initializer !== undefined) own.declarations.push(node);
    node.forEachChild((child) => visit(child, own));
  };
  visit(file, { node: file, awaits: [], declarations: [] });
  return bodies;
}

function namesIn(node: Node): readonly Identifier[] {
  if (isIdentifier(node)) return [node];
  const names: Identifier[] = [];
  node.forEachChild((child) => {
    if (isBindingElement(child) && child.name !== undefined) names.push(...namesIn(child.name));
  });
  return names;
}

/** Whether the last call is `catch`, or `then` with two callbacks. */
function isHandled(value: Node): boolean {
  if (!isCallExpression(value) || !isPropertyAccessExpression(value.expression)) return false;
  const method = value.expression.name.text;
  return method === "catch" || (method === "then" && value.arguments.length > 1);
}

function firstUse(name: Identifier, after: number, within: Node): Node | undefined {
  let use: Node | undefined;
  const visit = (node: Node): void => {
    if (use !== undefined || node.end <= after) return;
    if (isIdentifier(node) && node.text === name.text && node.pos >= after) use = node;
    else node.forEachChild(visit);
  };
  visit(within);
  return use;
}

function candidatesIn(file: SourceFile): readonly Candidate[] {
  return bodiesIn(file).flatMap(({ node, awaits, declarations }) =>
    declarations.flatMap(({ name: pattern, initializer, end }) => {
      if (initializer === undefined || isAwaitExpression(initializer) || isHandled(initializer)) return [];
      return namesIn(pattern).flatMap((name) => {
        const use = firstUse(name, end, node);
        const isHeld = awaits.some((other) => other.pos >= end && other.end <= (use?.pos ?? 0));
        return isHeld ? [{ name, line: file.text.slice(0, name.end).split("\n").length }] : [];
      });
    }),
  );
}

const promise = /^(readonly )?[([]*Promise(Like)?</;

async function heldIn({ program, checker }: Project, path: string): Promise<readonly string[]> {
  const file = await program.getSourceFile(path);
  const candidates = file === undefined ? [] : candidatesIn(file);
  const types = await checker.getTypeAtLocation(candidates.map(({ name }) => name));
  const texts = await Promise.all(
    types.map((type) => (type === undefined ? "" : checker.typeToString(type))),
  );
  return candidates.flatMap(({ name, line }, index) =>
    promise.test(texts[index] ?? "")
      ? [
          `${path}:${line}: ${name.text} is a promise that is held while a different promise is awaited. Use Promise.all.`,
        ]
      : [],
  );
}

/** Returns one message per held promise in the project files for which `isChecked` is true. */
export async function heldPromises(
  tsconfig: string,
  isChecked: (path: string) => boolean,
): Promise<readonly string[]> {
  const api = new API();
  try {
    const [project] = (await api.updateSnapshot({ openProjects: [tsconfig] })).getProjects();
    if (project === undefined) throw new Error(`${tsconfig} cannot be read.`);
    const paths = (await project.program.getSourceFileNames()).filter(isChecked);
    const found = await Promise.all(paths.map((path) => heldIn(project, path)));
    return found.flat();
  } finally {
    await api.close();
  }
}
