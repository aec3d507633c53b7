// Cuts name and version out of the lines of a watch without decoding them: the name stands at the beginning of a line, and
// no version before that of the object itself. Pure but for what is left of the last line.

export interface NamedLine {
  readonly name: string;
  readonly resourceVersion: string;
}

/** Long enough for type, kind and name. */
const head = 300;

const nameIn = /"metadata":\{"name":"([^"]+)"/;
const versionIn = /"resourceVersion":"(\d+)"/;

/** "gone" stands for an error of the server: what is asked for is no longer known, or it will not go on. */
function readLine(line: string): NamedLine | "gone" | undefined {
  const start = line.slice(0, head);
  if (start.startsWith('{"type":"ERROR"')) return "gone";
  const name = nameIn.exec(start)?.[1];
  if (name === undefined) return undefined;
  const resourceVersion = versionIn.exec(line)?.[1];
  return resourceVersion === undefined ? undefined : { name, resourceVersion };
}

/** For one connection: parts as they come to the lines that are whole. */
export function readNames(): (part: Uint8Array) => readonly (NamedLine | "gone")[] {
  const decoder = new TextDecoder();
  let rest = "";
  return (part) => {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    return lines.map(readLine).filter((line) => line !== undefined);
  };
}
