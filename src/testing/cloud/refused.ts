// A request that a simulated cloud rejects. Code that the clouds share throws it; each cloud turns it into its response body.

/** The rejection of a request, with the status and message of its response. */
export class Refused extends Error {
  readonly status: number;
  /** Undefined for the cloud's default code of the status. */
  readonly code: string | undefined;
  readonly details: unknown;

  constructor(status: number, message: string, code?: string, details?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}
