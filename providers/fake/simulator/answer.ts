// Requests and responses of the simulated cloud, independent of HTTP. An error response is thrown as a Refusal.

import { type Answer, RequestRefusal } from "#ccm/testing";

export interface Query {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export class Refusal extends RequestRefusal {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }

  toAnswer(): Answer {
    return { status: this.status, body: { error: { code: this.code, message: this.message } } };
  }
}

const maxPageSize = 500;

/** A page of a collection, with the number of the next page. */
export function pageOf(key: string, all: readonly unknown[], query: URLSearchParams): Answer {
  const size = Math.min(maxPageSize, Math.max(1, Number(query.get("per_page") ?? 50) || 50));
  const page = Math.max(1, Number(query.get("page") ?? 1) || 1);
  const items = all.slice((page - 1) * size, page * size);
  const next = page * size < all.length ? page + 1 : null;
  return {
    status: 200,
    body: { [key]: items, meta: { page, per_page: size, total: all.length, next_page: next } },
  };
}
