// Splits a stream of bytes into lines across chunk boundaries, and decodes each line once. Does not parse the lines.

const newline = 10;
/** etcd rejects objects above 1.5 MiB, so a much longer line does not come from an API server. */
const maxLine = 32 * 1024 * 1024;

class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

export class LineDecoder {
  readonly #decoder = new TextDecoder();
  /** The start of a line whose end has not arrived. */
  #pieces: Uint8Array[] = [];
  #buffered = 0;

  /** Whether a line would be incomplete if the stream ended now. */
  get isCut(): boolean {
    return this.#buffered > 0;
  }

  /** The non-empty lines that end within this chunk, each decoded when the generator reaches it. */
  *push(chunk: Uint8Array): Generator<string, void> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const last = chunk.subarray(start, end);
      start = end + 1;
      const line = this.#buffered === 0 ? last : this.#joined(last);
      if (line.length > 0) yield this.#decoder.decode(line);
    }
    if (start === chunk.length) return;
    this.#buffered += chunk.length - start;
    if (this.#buffered > maxLine) {
      throw new LineTooLongError(
        `A line is longer than ${maxLine} bytes. Expected one JSON object per line.`,
      );
    }
    // A copy, because a view would keep the whole chunk in memory.
    this.#pieces.push(chunk.slice(start));
  }

  #joined(last: Uint8Array): Uint8Array {
    const whole = new Uint8Array(this.#buffered + last.length);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    whole.set(last, at);
    this.#pieces = [];
    this.#buffered = 0;
    return whole;
  }
}
