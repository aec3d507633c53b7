// What the admission webhook rejects on Services, and what it must never block.

import { describe, expect, test } from "bun:test";
import { admitService } from "../../../src/controllers/service/admit.ts";
import { servedClasses, servesWithoutClass } from "../../../src/controllers/service/served-classes.ts";
import { integer, oneOf } from "../../../src/core/fields.ts";

const table = {
  prefix: "lb.acme.example/",
  fields: {
    algorithm: oneOf("How connections are spread.", ["round-robin", "least-connections"]),
    "idle-timeout": integer("Seconds.", { min: 1 }),
  },
};

const service = (
  annotations: Record<string, string>,
  changes: { spec?: object; metadata?: object } = {},
) => ({
  metadata: { name: "web", namespace: "default", uid: "u", annotations, ...changes.metadata },
  spec: { type: "LoadBalancer", ...changes.spec },
  status: {},
});
const create = (object: unknown) =>
  admitService({ operation: "CREATE", object, oldObject: null }, table, servesWithoutClass);
const update = (oldObject: unknown, object: unknown) =>
  admitService({ operation: "UPDATE", object, oldObject }, table, servesWithoutClass);

const wrong = { "lb.acme.example/algorithm": "round-robbin" };

describe("admission of a new Service", () => {
  test("rejects invalid values, all in one message with the expected values [F48]", () => {
    const { refusal } = create(service({ ...wrong, "lb.acme.example/idle-timeout": "soon" }));
    expect(refusal).toContain("lb.acme.example/algorithm must be");
    expect(refusal).toContain('did you mean "round-robin"?');
    expect(refusal).toContain("lb.acme.example/idle-timeout must be");
  });

  test("allows an unknown annotation with a warning [F48]", () => {
    expect(create(service({ "lb.acme.example/algoritm": "round-robin" }))).toEqual({
      warnings: [expect.stringContaining('did you mean "lb.acme.example/algorithm"?')],
    });
  });

  test("ignores valid Services, other types and other classes", () => {
    expect(create(service({ "lb.acme.example/algorithm": "round-robin" }))).toEqual({});
    expect(create(service(wrong, { spec: { type: "ClusterIP" } }))).toEqual({});
    expect(create(service(wrong, { spec: { loadBalancerClass: "other.example/lb" } }))).toEqual({});
  });
});

describe("admission of a changed Service", () => {
  test("allows an unchanged invalid annotation when labels, finalizers and other annotations change", () => {
    const before = service(wrong);
    expect(update(before, service(wrong, { metadata: { finalizers: [] } }))).toEqual({});
    expect(update(before, service(wrong, { metadata: { labels: { a: "b" } } }))).toEqual({});
    expect(update(before, service({ ...wrong, "other.example/x": "y" }))).toEqual({});
    expect(update(before, service({}))).toEqual({});
  });

  test("rejects an annotation that becomes invalid, and names only that annotation [F48]", () => {
    const { refusal } = update(service(wrong), service({ ...wrong, "lb.acme.example/idle-timeout": "0" }));
    expect(refusal).toContain("idle-timeout");
    expect(refusal).not.toContain("algorithm");
  });

  test("always allows a Service that is being deleted", () => {
    const leaving = service(wrong, { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
    expect(update(service({}), leaving)).toEqual({});
  });

  test("checks all annotations when the type becomes LoadBalancer", () => {
    const { refusal } = update(service(wrong, { spec: { type: "ClusterIP" } }), service(wrong));
    expect(refusal).toContain("round-robin");
  });
});

test("admission allows anything that is not a Service, and any deletion", () => {
  for (const object of [
    null,
    undefined,
    7,
    "x",
    [],
    {},
    { spec: 7 },
    { metadata: { annotations: "x" }, spec: {} },
  ]) {
    expect(create(object)).toEqual({});
  }
  expect(
    admitService({ operation: "DELETE", object: null, oldObject: service(wrong) }, table, servesWithoutClass),
  ).toEqual({});
});

test("checks only the Services of the served classes [F105 F48]", () => {
  const classes = servedClasses(["example.com/shop"], { only: true });
  const refusalOf = (loadBalancerClass: string | undefined) => {
    const object = service(wrong);
    const spec = { ...object.spec, ...(loadBalancerClass !== undefined && { loadBalancerClass }) };
    const write = { operation: "CREATE", object: { ...object, spec }, oldObject: null };
    return admitService(write, table, classes).refusal !== undefined;
  };
  expect([undefined, "example.com/shop", "example.com/other"].map(refusalOf)).toEqual([false, true, false]);
});
