// A string that logs, errors and JSON show as "[secret]".

const inspect = Symbol.for("nodejs.util.inspect.custom");

/** A secret value. Printing, interpolating or serializing it gives `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the value. Call it where the request is made, and do not store the result. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect](): string {
    return "[secret]";
  }
}
