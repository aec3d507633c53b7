// Serves the simulated cloud and its admin API over HTTP on the loopback interface, for other processes.

import { milliseconds } from "#ccm";
import { type Reachable, RequestRefusal, type ServedCloud, serveCloud } from "#ccm/testing";
import { handleAdmin } from "./admin.ts";
import { type FakeCloud, queryOf } from "./fake-cloud.ts";

export type { ServedCloud } from "#ccm/testing";

const immediately = { delay: milliseconds(0), fate: "whole" } as const;

export function serveFakeCloud(cloud: FakeCloud, port: number): ServedCloud {
  const withAdmin: Reachable = {
    clock: cloud.clock,
    faults: cloud.faults,
    receive: (request) => {
      try {
        const answer = handleAdmin(cloud, queryOf(request));
        return answer === undefined ? cloud.receive(request) : { answer, ...immediately };
      } catch (error) {
        if (error instanceof RequestRefusal) return { answer: error.toAnswer(), ...immediately };
        throw error;
      }
    },
  };
  return serveCloud(withAdmin, port);
}
