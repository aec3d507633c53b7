// The API of Acme: types of its objects, and one function per operation.

import type { Call, CloudTransport, Query } from "#ccm";
import { unwritten } from "./unwritten.ts";

/** The fields that the provider uses, spelled as in the API. */
export interface ApiServer {
  readonly id: string;
}

export interface ApiBalancer {
  readonly id: string;
}

export interface ApiRoute {
  readonly id: string;
}

export interface ApiOptions {
  readonly base: string;
  readonly transport: CloudTransport;
  readonly pageSize: number;
}

const section = "3. Call the API";

export function cloudApi(_options: ApiOptions) {
  return {
    servers: (_call: Call, _query?: Query): AsyncIterable<readonly ApiServer[]> =>
      unwritten("api.ts", section),
    balancers: (_call: Call): AsyncIterable<readonly ApiBalancer[]> => unwritten("api.ts", section),
    routes: (_call: Call): AsyncIterable<readonly ApiRoute[]> => unwritten("api.ts", section),
  };
}

export type CloudApi = ReturnType<typeof cloudApi>;
