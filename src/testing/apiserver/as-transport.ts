// The test API server as a Transport, without sockets, for unit tests and the simulation. The bearer token identifies the caller.

import type { Transport } from "../../platform/transport.ts";
import type { ApiServer } from "./api-server.ts";
import { answerError } from "./http/answer.ts";
import { headerOf } from "./http/parse-request.ts";
import { unauthorized } from "./objects/api-error.ts";
import type { Identity } from "./objects/kube-object.ts";

export const administrator: Identity = {
  username: "admin",
  groups: ["system:masters", "system:authenticated"],
};

/** The token in an `Authorization` header. */
export function bearerToken(header: string | null | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(header ?? "")?.[1];
}

/** A request without a token has the identity `identity`; an unknown token is rejected with 401. */
export function asTransport(server: ApiServer, identity: Identity = administrator): Transport {
  return async (request, signal) => {
    const token = bearerToken(headerOf(request, "authorization"));
    const caller = token === undefined ? identity : server.identityOf(token);
    return caller === undefined ? answerError(unauthorized()) : server.handle(request, caller, signal);
  };
}
