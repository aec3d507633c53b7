// The API server as a Transport: for unit tests and simulation, in virtual time, without a socket. Who calls is told by the bearer token.

import type { Transport, TransportRequest } from "../../platform/transport.ts";
import type { ApiServer } from "./api-server.ts";
import { answerError } from "./http/answer.ts";
import { headerOf } from "./http/read-body.ts";
import { unauthorized } from "./objects/api-error.ts";
import type { Identity } from "./objects/kube-object.ts";

export const administrator: Identity = {
  username: "admin",
  groups: ["system:masters", "system:authenticated"],
};

function bearerToken(request: TransportRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headerOf(request, "authorization") ?? "")?.[1];
}

/** Requests without a token come from `identity`; those with one need a token the server knows. */
export function asTransport(server: ApiServer, identity: Identity = administrator): Transport {
  return async (request, signal) => {
    const token = bearerToken(request);
    const caller = token === undefined ? identity : server.tokens.find(token);
    return caller === undefined ? answerError(unauthorized()) : server.handle(request, caller, signal);
  };
}
