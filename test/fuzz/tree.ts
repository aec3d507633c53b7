// The structure of an input as a tree: JSON, XML, DER, protobuf, or indented lines. Mutations
// change the tree, so that most of an input stays valid around the changes.

export interface Tree {
  /** A key, the name of an element, a tag, a field number, or an indentation. */
  readonly tag: string;
  /** Undefined for a list, an object or an element. */
  readonly value?: string;
  readonly children: readonly Tree[];
}

export interface Form {
  /** The children of the root. Throws if the text has a different form. */
  readonly parse: (text: string) => readonly Tree[];
  readonly print: (trees: readonly Tree[]) => string;
}

const leaf = (tag: string, value: string): Tree => ({ tag, value, children: [] });

const jsonOf = (tag: string, value: unknown): Tree => {
  if (Array.isArray(value)) return { tag, children: value.map((each) => jsonOf("[", each)) };
  if (typeof value !== "object" || value === null) return leaf(tag, JSON.stringify(value));
  const members = Object.entries(value).map(([key, each]) => jsonOf(`"${key}`, each));
  // Distinguishes an empty object from an empty list.
  return { tag, children: members.length === 0 ? [leaf("{", "")] : members };
};

const printJson = ({ value, children }: Tree): string => {
  if (value !== undefined) return value;
  const isList = children.every(({ tag }) => tag === "[");
  const parts = children
    .filter(({ tag }) => tag !== "{")
    .map((child) => (isList ? "" : `${JSON.stringify(child.tag.slice(1))}:`) + printJson(child));
  return isList ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
};

/** A member may be repeated, and may be called `__proto__`. */
export const json: Form = {
  parse: (text) => [jsonOf("[", JSON.parse(text))],
  print: (trees) => trees.map(printJson).join("\n"),
};

const indentOf = (line: string): string => /^[ \t]*(?:- )*/.exec(line)?.[0] ?? "";

/** YAML and INI: a line belongs to the line above that is indented less. */
export const lines: Form = {
  parse: (text) => {
    const all = text.split("\n");
    const below = (from: number, to: number): readonly Tree[] => {
      const trees: Tree[] = [];
      for (let at = from; at < to; ) {
        const line = all[at] ?? "";
        const tag = indentOf(line);
        let end = at + 1;
        while (end < to && indentOf(all[end] ?? "").length > tag.length) end += 1;
        trees.push({ tag, value: line.slice(tag.length), children: below(at + 1, end) });
        at = end;
      }
      return trees;
    };
    return below(0, all.length);
  },
  print: (trees) => {
    const print = ({ tag, value = "", children }: Tree): string =>
      [tag + value, ...children.map(print)].join("\n");
    return trees.map(print).join("\n");
  },
};

/** Elements with their attributes, which is sufficient for responses of clouds. */
export const xml: Form = {
  parse: (text) => {
    const root: { tag: string; children: Tree[] } = { tag: "", children: [] };
    const open = [root];
    for (const [, end, tag = "", isEmpty, content] of text.matchAll(/<(\/?)([^<>]+?)(\/?)>|([^<>]+)/g)) {
      const last = open.at(-1) ?? root;
      if (content !== undefined) last.children.push(leaf("", content));
      else if (end === "/") open.pop();
      else {
        const element = { tag, children: [] };
        last.children.push(element);
        if (isEmpty === "" && !tag.startsWith("?")) open.push(element);
      }
    }
    return root.children;
  },
  print: (trees) => {
    const print = ({ tag, value, children }: Tree): string => {
      if (value !== undefined) return value;
      if (tag.startsWith("?")) return `<${tag}>`;
      return `<${tag}>${children.map(print).join("")}</${tag.split(/\s/)[0]}>`;
    };
    return trees.map(print).join("");
  },
};

const isConstructed = (tag: number): boolean => (tag & 0x20) !== 0;
const lengthOf = (count: number): string => {
  if (count < 0x80) return String.fromCharCode(count);
  const bytes: number[] = [];
  for (let rest = count; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return String.fromCharCode(0x80 | bytes.length, ...bytes);
};

/** Bytes as characters up to 0xff. */
export const der: Form = {
  parse: (text) => {
    const trees: Tree[] = [];
    for (let at = 0; at < text.length; ) {
      const tag = text.charCodeAt(at);
      const first = text.charCodeAt(at + 1);
      const size = first < 0x80 ? 0 : first & 0x7f;
      let length = first < 0x80 ? first : 0;
      for (let index = 0; index < size; index += 1) length = length * 256 + text.charCodeAt(at + 2 + index);
      const start = at + 2 + size;
      const content = text.slice(start, start + length);
      at = start + length;
      const own = String.fromCharCode(tag);
      trees.push(isConstructed(tag) ? { tag: own, children: der.parse(content) } : leaf(own, content));
    }
    return trees;
  },
  print: (trees) => {
    const print = ({ tag, value, children }: Tree): string => {
      const content = value ?? children.map(print).join("");
      return tag + lengthOf(content.length) + content;
    };
    return trees.map(print).join("");
  },
};

const varint = (text: string, at: number): readonly [value: number, next: number] => {
  let [value, next] = [0, at];
  for (let factor = 1; ; factor *= 128) {
    const byte = text.charCodeAt(next++);
    if (Number.isNaN(byte)) throw new Error("It ends in a number.");
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return [value, next];
  }
};
const varintOf = (value: number): string => {
  let [text, rest] = ["", value];
  for (; rest >= 128; rest = Math.floor(rest / 128)) text += String.fromCharCode((rest % 128) | 128);
  return text + String.fromCharCode(rest);
};

/** The wire format of protobuf. A string may look like a message, and is then a single leaf. */
export const protobuf: Form = {
  parse: (text) => {
    const trees: Tree[] = [];
    for (let at = 0; at < text.length; ) {
      const [tag, start] = varint(text, at);
      const wireType = tag % 8;
      const [number, end] = wireType === 2 || wireType === 0 ? varint(text, start) : [0, start];
      const sizes: Readonly<Record<number, number>> = { 0: 0, 1: 8, 2: number, 5: 4 };
      const size = sizes[wireType];
      if (size === undefined || end + size > text.length) throw new Error("It is not a message.");
      const content = text.slice(wireType === 2 ? end : start, end + size);
      trees.push(wireType === 2 ? message(String(tag), content) : leaf(String(tag), content));
      at = end + size;
    }
    return trees;
  },
  print: (trees) => {
    const print = ({ tag, value, children }: Tree): string => {
      // An edit may have renamed the field.
      const number = Math.min(Number(tag) || 0, 2 ** 40);
      const content = value ?? children.map(print).join("");
      return varintOf(number) + (number % 8 === 2 ? varintOf(content.length) : "") + content;
    };
    return trees.map(print).join("");
  },
};

const message = (tag: string, content: string): Tree => {
  try {
    if (content.length > 2) return { tag, children: protobuf.parse(content) };
  } catch {
    // The value is a string.
  }
  return leaf(tag, content);
};

/** The response of a cloud: JSON or XML. */
export const answer: Form = {
  parse: (text) => (text.trimStart().startsWith("<") ? xml.parse(text) : json.parse(text)),
  print: (trees) => (trees.some(({ tag }) => tag !== "[") ? xml.print(trees) : json.print(trees)),
};
