// A request that a simulated cloud rejects. Code that the clouds share throws it; each cloud turns it into its response body.

/** The refusal of a request: its response has this status and message. */
export class Refused extends Error {
  readonly status: number;
  /** Undefined: the cloud's code for the status. */
  readonly code: string | undefined;
  readonly details: unknown;

  constructor(status: number, message: string, code?: string, details?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}
