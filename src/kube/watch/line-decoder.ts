// Cuts a stream of bytes at newlines, whatever the chunks are, and decodes each line once. It does not parse lines.

const newline = 10;
/** etcd refuses objects above 1.5 MiB; far beyond that, something else is talking to us. */
const longestLine = 32 * 1024 * 1024;

export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

export class LineDecoder {
  readonly #decoder = new TextDecoder();
  /** The beginning of a line whose end has not come. */
  #pieces: Uint8Array[] = [];
  #held = 0;

  /** True when the stream ends now and a line was cut in two. */
  get isCut(): boolean {
    return this.#held > 0;
  }

  /** The lines that end within this chunk; empty ones are left out. Decodes each only when it is asked for. */
  *push(chunk: Uint8Array): Generator<string, void> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const last = chunk.subarray(start, end);
      start = end + 1;
      const line = this.#held === 0 ? last : this.#joined(last);
      if (line.length > 0) yield this.#decoder.decode(line);
    }
    if (start === chunk.length) return;
    this.#held += chunk.length - start;
    if (this.#held > longestLine) {
      throw new LineTooLongError(
        `A line is longer than ${longestLine} bytes; expected one JSON object per line.`,
      );
    }
    // A copy: a view would keep the whole chunk alive.
    this.#pieces.push(chunk.slice(start));
  }

  #joined(last: Uint8Array): Uint8Array {
    const whole = new Uint8Array(this.#held + last.length);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    whole.set(last, at);
    this.#pieces = [];
    this.#held = 0;
    return whole;
  }
}
