// Reads names and resource versions from the lines of a watch without decoding them, which would cost too much time. It relies
// on the name being near the start of a line, and on the object's resource version being the first one.

export interface NamedLine {
  readonly name: string;
  readonly resourceVersion: string;
  readonly text: string;
}

/** Enough characters for type, kind and name. */
const head = 300;

const nameIn = /"metadata":\{"name":"([^"]+)"/;
const versionIn = /"resourceVersion":"(\d+)"/;

/** The result "gone" is a server error: the watch must start again without a resource version. */
function readLine(line: string): NamedLine | "gone" | undefined {
  const start = line.slice(0, head);
  if (start.startsWith('{"type":"ERROR"')) return "gone";
  const name = nameIn.exec(start)?.[1];
  if (name === undefined) return undefined;
  const resourceVersion = versionIn.exec(line)?.[1];
  return resourceVersion === undefined ? undefined : { name, resourceVersion, text: line };
}

/** Reads one connection: takes its chunks, and returns the complete lines. */
export class NameReader {
  readonly #decoder = new TextDecoder();
  #incomplete = "";

  read(chunk: Uint8Array): readonly (NamedLine | "gone")[] {
    const lines = (this.#incomplete + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#incomplete = lines.pop() ?? "";
    return lines.map(readLine).filter((line) => line !== undefined);
  }
}
