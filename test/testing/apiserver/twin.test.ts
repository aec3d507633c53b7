// Runs the same cases against the test API server and, when FAIRLEAD_CLUSTER_KUBECONFIG is set, against a real one. A
// case that passes only against the test API server reveals a bug in it.

import { describe, test } from "bun:test";
import { readFileSync } from "node:fs";
import { seededRandom } from "../../../src/platform/random.ts";
import { systemTransport, type TlsMaterial } from "../../../src/platform/transport.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../../src/testing/apiserver/as-transport.ts";
import { isObject, listAt, textAt, valueAt } from "../../../src/testing/apiserver/objects/json.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { minorVariable } from "../../cluster/rig/assets.ts";
import { sharedKubeconfig } from "../../cluster/rig/shared-plane.ts";
import { nodeCases } from "./cases/node-cases.ts";
import { readingCases } from "./cases/reading-cases.ts";
import { serviceCases } from "./cases/service-cases.ts";
import type { Target } from "./cases/target.ts";

const cases = [...nodeCases, ...serviceCases, ...readingCases];

const testApiServerTarget = (): Target => {
  const server = new ApiServer({ clock: new VirtualClock(), random: seededRandom(1) });
  let serial = 0;
  return {
    baseURL: "http://test-api-server",
    transport: asTransport(server),
    headers: {},
    unique: (prefix) => `${prefix}-${++serial}`,
  };
};

const decode = (text: string): string => Buffer.from(text, "base64").toString();

const realTarget = (path: string): Target => {
  const config: unknown = Bun.YAML.parse(readFileSync(path, "utf8"));
  if (!isObject(config)) throw new TypeError(`Expected a kubeconfig in ${path}.`);
  const cluster = valueAt(listAt(config, "clusters")[0], "cluster");
  const user = valueAt(listAt(config, "users")[0], "user");
  const token = textAt(user, "token");
  const tls: TlsMaterial = {
    ca: decode(textAt(cluster, "certificate-authority-data")),
    ...(token === "" && {
      cert: decode(textAt(user, "client-certificate-data")),
      key: decode(textAt(user, "client-key-data")),
    }),
  };
  const run = crypto.randomUUID().slice(0, 8);
  let serial = 0;
  return {
    baseURL: textAt(cluster, "server"),
    transport: systemTransport,
    headers: token === "" ? {} : { authorization: `Bearer ${token}` },
    tls,
    unique: (prefix) => `${prefix}-${run}-${++serial}`,
  };
};

describe("the test API server", () => {
  test.each(cases.map((each) => [each.name, each] as const))("%s", async (_, { run }) => {
    await run(testApiServerTarget());
  });
});

const kubeconfig = sharedKubeconfig();

/** Unset for the test API server alone, which behaves like the newest version. */
const minor = Number(process.env[minorVariable] ?? Number.POSITIVE_INFINITY);

const canStream = !(process.env["FAIRLEAD_API_SERVER_FLAGS"] ?? "").includes("WatchList=false");

describe.skipIf(kubeconfig === undefined)("a real API server", () => {
  const applicable = cases.filter(
    ({ since = 0, streams }) => since <= minor && (streams !== true || canStream),
  );
  test.each(applicable.map((each) => [each.name, each] as const))("%s", async (_, { run }) => {
    await run(realTarget(kubeconfig ?? ""));
  });
});
