// The parts of a file that people read: all of a document, and the comments and strings of a program. Everything else becomes
// spaces, so that positions and line numbers do not change. Pure.

const isProgram = (path: string): boolean => /\.[cm]?[jt]s$/.test(path);

const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");

/** A string without a space is a name, a key or a path. */
const inString = (text: string): string => (/\s/.test(text) ? text : blank(text));

/** Inline code refers to identifiers of the program. */
const withoutCode = (text: string): string => text.replaceAll(/`[^`\n]+`/g, (code) => blank(code));

const inComment = (text: string): string =>
  withoutCode(text.replaceAll(/^\s*(?:\/\/+|\/\*+|\*+\/?)|\*\/$/gm, (leader) => blank(leader)));

/** After one of these characters, a slash begins a regular expression and not a division. */
const beforeRegex = /(?:^|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of))\s*$/;

const comment = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const quoted = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/y;
const regex = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;
const templatePart = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/y;

function inProgram(text: string): string {
  const parts: string[] = [];
  /** One entry per open template: the depth of braces inside its current `${…}`. */
  const templates: number[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const takeTemplatePart = (): void => {
    const part = take(templatePart) ?? "";
    parts.push(inString(part), " ");
    if (text[at] === "`") {
      templates.pop();
      at += 1;
    } else {
      parts.push(" ");
      at += 2;
    }
  };
  while (at < text.length) {
    const next = text[at] ?? "";
    const open = templates.length - 1;
    let found: string | undefined;
    if (next === "/") found = take(comment);
    if (found !== undefined) parts.push(inComment(found));
    else if (next === "/" && beforeRegex.test(text.slice(Math.max(0, at - 40), at))) {
      parts.push(blank(take(regex) ?? text[at++] ?? ""));
    } else if (next === '"' || next === "'") parts.push(inString(take(quoted) ?? text[at++] ?? ""));
    else if (next === "`") {
      templates.push(0);
      parts.push(" ");
      at += 1;
      takeTemplatePart();
    } else if (next === "}" && templates[open] === 0) {
      parts.push(" ");
      at += 1;
      takeTemplatePart();
    } else {
      if (open >= 0 && next === "{") templates[open] = (templates[open] ?? 0) + 1;
      if (open >= 0 && next === "}") templates[open] = (templates[open] ?? 0) - 1;
      parts.push(next === "\n" ? next : " ");
      at += 1;
    }
  }
  return parts.join("");
}

function inDocument(text: string): string {
  const blocks = text.replaceAll(
    /^(```ts\b.*\n)([\s\S]*?)^```$/gm,
    (_, fence: string, code: string) => `${blank(fence)}${inProgram(code)}   `,
  );
  return withoutCode(blocks);
}

export function proseOf(path: string, text: string): string {
  if (isProgram(path)) return inProgram(text);
  return path.endsWith(".md") ? inDocument(text) : text;
}
