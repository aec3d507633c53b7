// Every field that the provider reads or sends is in the OpenAPI document, with a type that fits. Runs as
// `npm run test:clients -- types`.

import { afterAll, expect, test } from "bun:test";
import { Comparison, type Pair, resources } from "./compare.ts";

const document = process.env["HCLOUD_OPENAPI"];
if (document === undefined) throw new Error("HCLOUD_OPENAPI is not set to the path of the OpenAPI document.");
const comparison = new Comparison(document);
afterAll(() => comparison[Symbol.dispose]());

const pairs: readonly Pair[] = [
  ["ApiServer", "server"],
  ["ApiNetwork", "network"],
  ["ApiLoadBalancer", "load_balancer"],
  ["ApiService", "load_balancer_service"],
  ["ApiTarget", "load_balancer_target"],
  ["ApiCertificate", "certificate"],
  ["ApiVolume", "volume"],
  ["ApiAction", "action"],
];

const known = [
  // The document is from February 2026 and does not contain this field.
  "load_balancer.services[].http.timeout_idle is not in the document",
  "load_balancer_service.http.timeout_idle is not in the document",
  // The document requires no member of these objects. The API always sends both.
  "server.private_net[].ip may be missing",
  "server.private_net[].network may be missing",
  "load_balancer.private_net[].ip may be missing",
  "load_balancer.private_net[].network may be missing",
  "certificate.status.error.code may be missing",
  "certificate.status.error.message may be missing",
];

test("every field of the provider's types is in the OpenAPI document, with a matching type", () => {
  expect(comparison.complaints(pairs, known)).toEqual([]);
});

test.each([
  [
    "a field that does not exist",
    "readonly gateway: string",
    "readonly gate_way: string",
    "network.routes[].gate_way is not in the document",
  ],
  [
    "a different type",
    "readonly max_targets: number",
    "readonly max_targets: string",
    "load_balancer.load_balancer_type.max_targets has a different type",
  ],
  [
    "a value that may be null",
    "readonly deprecated: string | null",
    "readonly deprecated: string",
    "server.image.deprecated may be null",
  ],
  [
    "a list that is an object",
    "readonly targets: readonly ApiTarget[]",
    "readonly targets: ApiTarget",
    "load_balancer.targets is a list",
  ],
])("the comparison finds %s", (_, before, after, complaint) => {
  expect(resources).toContain(before);
  expect(comparison.complaints(pairs, known, resources.replace(before, after))).toContain(complaint);
});

test("the comparison finds an exception that is not necessary", () => {
  const stale = "server.name may be missing";
  expect(comparison.complaints(pairs, [...known, stale])).toEqual([stale]);
});
