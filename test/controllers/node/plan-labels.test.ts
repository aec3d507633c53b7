import { describe, expect, test } from "bun:test";
import { planLabels } from "../../../src/controllers/node/desired/labels.ts";
import { type NodeSettings, nodeDefaults } from "../../../src/controllers/node/settings.ts";
import type { Instance } from "../../../src/provider/instances.ts";
import { machine } from "../../support/scripted-source.ts";

describe("planLabels [N20 F5]", () => {
  const zone = "topology.kubernetes.io/zone";
  const betaZone = "failure-domain.beta.kubernetes.io/zone";
  const type = "node.kubernetes.io/instance-type";
  const betaType = "beta.kubernetes.io/instance-type";
  const own = "cloud.example/rack";
  interface Case {
    readonly labels?: Record<string, string>;
    readonly cloud?: Partial<Instance>;
    readonly isNew?: boolean;
    readonly settings?: Partial<NodeSettings>;
    readonly set: Record<string, string>;
    readonly problems?: readonly string[];
  }
  const cases: readonly [string, Case][] = [
    [
      "sets both spellings on a new Node",
      {
        isNew: true,
        cloud: { type: "big", zone: "a" },
        set: { [zone]: "a", [betaZone]: "a", [type]: "big", [betaType]: "big" },
      },
    ],
    [
      "follows a resized machine",
      { labels: { [type]: "small" }, cloud: { type: "big" }, set: { [type]: "big" } },
    ],
    [
      "updates the old spelling when it exists",
      {
        labels: { [type]: "small", [betaType]: "small" },
        cloud: { type: "big" },
        set: { [type]: "big", [betaType]: "big" },
      },
    ],
    ["restores a missing zone", { cloud: { type: "", zone: "a" }, set: { [zone]: "a" } }],
    [
      "reports a different zone without changing it",
      { labels: { [zone]: "b" }, cloud: { type: "", zone: "a" }, set: {}, problems: [zone] },
    ],
    [
      'changes a different zone with the policy "sync"',
      {
        labels: { [zone]: "b" },
        cloud: { type: "", zone: "a" },
        settings: { labelPolicies: { [zone]: "sync" } },
        set: { [zone]: "a" },
      },
    ],
    [
      'never updates a label with the policy "once"',
      { cloud: { type: "big" }, settings: { labelPolicies: { [type]: "once" } }, set: {} },
    ],
    [
      "changes nothing when reconciling is disabled",
      { cloud: { type: "big" }, settings: { reconcileLabels: false }, set: {} },
    ],
    [
      "applies a label's own policy although reconciling is disabled",
      {
        labels: { [zone]: "b", "a/b": "1" },
        cloud: { type: "big", zone: "a", labels: { "a/b": "2", [own]: "2" } },
        settings: { reconcileLabels: false, labelPolicies: { [zone]: "sync", "a/b": "report" } },
        set: { [zone]: "a" },
        problems: ["a/b"],
      },
    ],
    [
      "sets type, zone and region on a joining Node under any policy",
      {
        isNew: true,
        labels: { [zone]: "b", [type]: "small" },
        cloud: { type: "big", zone: "a" },
        settings: { labelPolicies: { [zone]: "report", [type]: "once" } },
        set: { [zone]: "a", [betaZone]: "a", [type]: "big", [betaType]: "big" },
      },
    ],
    [
      "keeps a zone that the cloud does not report",
      { labels: { [zone]: "b" }, cloud: { type: "" }, set: {} },
    ],
    [
      "keeps labels under the provider's prefix in sync",
      { labels: { [own]: "1" }, cloud: { type: "", labels: { [own]: "2" } }, set: { [own]: "2" } },
    ],
    [
      "sets other labels only on new Nodes and never overwrites them",
      {
        isNew: true,
        labels: { "a/b": "1" },
        cloud: { type: "", labels: { "a/b": "2", "a/c": "3" } },
        set: { "a/c": "3" },
      },
    ],
    ["does not set other labels later", { cloud: { type: "", labels: { "a/c": "3" } }, set: {} }],
    [
      "never sets labels in Kubernetes' namespaces",
      { isNew: true, cloud: { type: "", labels: { "x.k8s.io/y": "1" } }, set: {} },
    ],
    [
      'reports an additional label with the policy "report"',
      {
        labels: { "a/b": "1" },
        cloud: { type: "", labels: { "a/b": "2" } },
        settings: { labelPolicies: { "a/b": "report" } },
        set: {},
        problems: ["a/b"],
      },
    ],
  ];
  test.each(cases)(
    "%s",
    (_, { labels = {}, cloud = {}, isNew = false, settings = {}, set, problems = [] }) => {
      const planned = planLabels({
        labels,
        instance: machine("n", cloud),
        isNew,
        ownPrefixes: ["cloud.example/"],
        settings: { ...nodeDefaults, ...settings },
      });
      expect(planned.set).toEqual(set);
      expect(planned.problems.map(({ key }) => key)).toEqual([...problems]);
    },
  );
});
