// A secret that cannot be printed by accident: every usual way of turning it into text gives "[secret]".

const inspect = Symbol.for("nodejs.util.inspect.custom");

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The only way to the value; call it where the request is made and keep no copy. */
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
