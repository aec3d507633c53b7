import { describe, expect, test } from "bun:test";
import {
  planAddresses,
  sameAddresses,
  sameAddressSet,
} from "../../../src/controllers/node/desired/addresses.ts";
import { type AddressPolicy, nodeDefaults } from "../../../src/controllers/node/settings.ts";
import { cidr } from "../../../src/core/cidr.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { external, internal, short } from "./address-draft.ts";

describe("planAddresses [F7]", () => {
  const cloud = [
    external("1.1.1.1"),
    internal("10.0.0.1", "a"),
    internal("fd00::1", "b"),
    internal("192.168.0.1", "b"),
  ];
  const cases: readonly [string, Partial<AddressPolicy>, readonly string[]][] = [
    [
      "keeps all addresses in the cloud's order",
      {},
      ["E 1.1.1.1", "I 10.0.0.1", "I fd00::1", "I 192.168.0.1"],
    ],
    ["keeps one family", { families: ["IPv6"] }, ["I fd00::1"]],
    [
      "orders families by preference [F6]",
      { families: ["IPv6", "IPv4"] },
      ["I fd00::1", "E 1.1.1.1", "I 10.0.0.1", "I 192.168.0.1"],
    ],
    ["keeps addresses in an included range", { include: [cidr("10.0.0.0/8")] }, ["I 10.0.0.1"]],
    [
      "drops addresses in excluded ranges",
      { exclude: [cidr("10.0.0.0/8"), cidr("fd00::/8")] },
      ["E 1.1.1.1", "I 192.168.0.1"],
    ],
    [
      "applies exclusion before inclusion",
      { include: [cidr("10.0.0.0/8")], exclude: [cidr("10.0.0.1/32")] },
      [],
    ],
    [
      "keeps addresses of a chosen network and of none",
      { networks: ["b"] },
      ["E 1.1.1.1", "I fd00::1", "I 192.168.0.1"],
    ],
    [
      "orders kinds as configured",
      { order: ["InternalIP"] },
      ["I 10.0.0.1", "I fd00::1", "I 192.168.0.1", "E 1.1.1.1"],
    ],
  ];
  test.each(cases)("%s", (_, policy, expected) => {
    const plan = planAddresses(toNode({ name: "n" }), cloud, { ...nodeDefaults.addresses, ...policy });
    expect(short(plan.desired) ?? []).toEqual([...expected]);
    expect(plan.problems.map(({ reason }) => reason)).toEqual(expected.length === 0 ? ["NoAddressLeft"] : []);
  });

  test("keeps the Node's addresses without a problem when the cloud has no addresses", () => {
    expect(planAddresses(toNode({ name: "n" }), [], nodeDefaults.addresses)).toEqual({ problems: [] });
  });

  test("does not initialize a Node that requests an address when the cloud has no addresses [F8]", () => {
    const draft = {
      name: "n",
      annotations: { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" },
      status: { addresses: [{ type: "Hostname", address: "10.9.9.9" }] },
    };
    const joining = toNode({ ...draft, spec: { taints: [uninitialized] } });
    const { desired, problems } = planAddresses(joining, [], nodeDefaults.addresses);
    expect(desired).toBeUndefined();
    expect(problems).toMatchObject([{ severity: "error", reason: "NodeIPMismatch" }]);
    expect(problems[0]?.text).toContain('requests "10.9.9.9", and the cloud reports none');
    expect(planAddresses(toNode(draft), [], nodeDefaults.addresses)).toEqual({ problems: [] });
  });

  test("drops values that are not IP addresses", () => {
    const plan = planAddresses(
      toNode({ name: "n" }),
      [internal("nonsense"), internal("10.0.0.1")],
      nodeDefaults.addresses,
    );
    expect(short(plan.desired)).toEqual(["I 10.0.0.1"]);
  });

  test("reports a mismatch with --node-ip with the expected and actual addresses, and where to correct it [F8]", () => {
    const node = toNode({ name: "n", annotations: { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" } });
    const { desired, problems } = planAddresses(node, [internal("10.0.0.1")], nodeDefaults.addresses);
    expect(desired).toBeUndefined();
    expect(problems).toMatchObject([{ severity: "error", reason: "NodeIPMismatch" }]);
    expect(problems[0]?.text).toContain('requests "10.9.9.9", and the cloud reports 10.0.0.1');
    expect(problems[0]?.remedy).toContain("--node-ip");
  });

  test("detects a different order with sameAddresses and ignores it with sameAddressSet", () => {
    const a = { type: "InternalIP", address: "1" };
    const b = { type: "InternalIP", address: "2" };
    expect([sameAddresses([a, b], [a, b]), sameAddresses([a, b], [b, a])]).toEqual([true, false]);
    expect([sameAddressSet([a, b], [b, a]), sameAddressSet([a, a], [a, b]), sameAddressSet([a], [])]).toEqual(
      [true, false, false],
    );
  });
});
