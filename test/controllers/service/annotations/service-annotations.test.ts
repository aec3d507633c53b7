import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  mergeObserved,
  readAnnotations,
  readsAnnotation,
  unreadable,
} from "../../../../src/controllers/service/annotations/annotations.ts";
import {
  RememberedRanges,
  sourceRangesOf,
} from "../../../../src/controllers/service/annotations/source-ranges.ts";
import { holdImmutable } from "../../../../src/controllers/service/desired/to-desired.ts";
import { seconds } from "../../../../src/core/brand.ts";
import { duration, flag, integer, oneOf, text } from "../../../../src/core/fields.ts";
import { pairs } from "../../../../src/core/list-fields.ts";
import { messageIn } from "../../../../src/core/problem.ts";
import type { Values } from "../../../../src/core/settings.ts";
import { toService } from "../service-draft.ts";

const fields = {
  algorithm: oneOf("How.", ["round-robin", "least-connections"], { fallback: "round-robin" }),
  "proxy-protocol": flag("The header.", { fallback: false, renamedFrom: ["uses-proxyprotocol"] }),
  size: integer("Its size.", { min: 1 }, { fallback: 1 }),
  network: text("Where.", { whenChanged: "reject" }),
  type: oneOf("Its type.", ["small", "large"], { fallback: "small", whenChanged: "reject" }),
  idle: duration("Idle time.", {}, { fallback: seconds(60), whenChanged: "reject" }),
  tags: pairs("Tags.", { whenChanged: "reject" }),
};
type Fields = typeof fields;
const prefix = "lb.acme.example/";
const table = { prefix, fields };
const read = (annotations: Readonly<Record<string, string>>) =>
  readAnnotations(table, toService({ annotations }));
const textsOf = (annotations: Readonly<Record<string, string>>) =>
  read(annotations).problems.map((problem) => `${problem.severity} ${problem.reason}: ${problem.text}`);

describe("readAnnotations [F47 F49 N2]", () => {
  test("uses defaults and ignores annotations of other programs", () => {
    const { settings, frozen, written, problems } = read({
      "lb.acme.example/size": "3",
      "kubectl.example/what": "ever",
      "service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8",
    });
    expect(settings).toMatchObject({ size: 3, algorithm: "round-robin" });
    expect([frozen.size, [...written], problems]).toEqual([0, ["size"], []]);
    expect(readAnnotations(table, toService()).settings).toMatchObject({ size: 1 });
  });

  const cases: readonly [string, Record<string, string>, string][] = [
    [
      "reports a misspelt name",
      { "lb.acme.example/algoritm": "round-robin" },
      'warning UnknownAnnotation: lb.acme.example/algoritm is not a known annotation; did you mean "lb.acme.example/algorithm"?',
    ],
    [
      "reports a misspelt value",
      { "lb.acme.example/algorithm": "round-robbin" },
      'error InvalidAnnotation: lb.acme.example/algorithm must be one of round-robin, least-connections, got "round-robbin"; did you mean "round-robin"?',
    ],
    [
      "reports a former name",
      { "lb.acme.example/uses-proxyprotocol": "true" },
      "warning RenamedAnnotation: lb.acme.example/uses-proxyprotocol was renamed to lb.acme.example/proxy-protocol; use the new name",
    ],
    [
      "reports a known name with a misspelt prefix",
      { "lb.acme.exmaple/algorithm": "round-robin" },
      'warning UnknownAnnotation: lb.acme.exmaple/algorithm is not a known annotation; did you mean "lb.acme.example/algorithm"?',
    ],
    [
      "reports a misspelt annotation of Fairlead",
      { "fairlead.dev/pasued": "true" },
      'warning UnknownAnnotation: fairlead.dev/pasued is not a known annotation; did you mean "fairlead.dev/paused"?',
    ],
    [
      "reports an invalid value of a Fairlead annotation",
      { "fairlead.dev/paused": "yes" },
      'error InvalidAnnotation: fairlead.dev/paused must be one of true, false, got "yes"',
    ],
    [
      "reports a selector that cannot be parsed [F42]",
      { "fairlead.dev/target-selector": "pool in (web" },
      'error InvalidAnnotation: fairlead.dev/target-selector must be a label selector such as "pool=web,tier!=test" or "pool in (web, api)", got "pool in (web"',
    ],
  ];
  test.each(cases)("%s", (_, annotations, expected) => {
    expect(textsOf(annotations)).toEqual([expected]);
  });

  test("ignores prefixes that do not resemble the provider's prefix", () => {
    expect(
      textsOf({ "other.example/algorithm": "x", algorithm: "x", "lb.acme.example.org/size": "x" }),
    ).toEqual([]);
  });

  test("accepts Kubernetes' own annotation under a prefix that a provider shares [F30]", () => {
    const annotations = { "service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8" };
    const shared = { prefix: "service.beta.kubernetes.io/", fields };
    expect(readAnnotations(shared, toService({ annotations })).problems).toEqual([]);
  });

  test("readsAnnotation is true for Fairlead's, the provider's and former keys, and false for keys of other programs", () => {
    const odd = {
      ...fields,
      "whole.example/key": text("A whole key.", { renamedFrom: ["old.example/key"] }),
    };
    const reads = readsAnnotation({ prefix, fields: odd }, (key) => key === "elsewhere.example/id");
    const own = ["lb.acme.example/size", "lb.acme.example/typo", "fairlead.dev/paused", "whole.example/key"];
    const more = ["old.example/key", "elsewhere.example/id"];
    const ranges = "service.beta.kubernetes.io/load-balancer-source-ranges";
    expect([...own, ...more, ranges].filter((key) => !reads(key))).toEqual([]);
    expect(["kubectl.example/x", "size", "whole.example/other"].filter(reads)).toEqual([]);
  });

  test("counts a value under a former name as written", () => {
    expect([...read({ "lb.acme.example/uses-proxyprotocol": "true" }).written]).toEqual(["proxy-protocol"]);
  });

  test.each([
    ["whole.acme.example/manged", "whole.acme.example/managed"],
    ["whole.acme.exmple/managed", "whole.acme.example/managed"],
    ["elsewhere.example/idd", "elsewhere.example/id"],
  ])("warns about a mistyped key outside the prefix: %s", (key, meant) => {
    const wide = {
      prefix,
      factKeys: ["elsewhere.example/id"],
      fields: { ...fields, "whole.acme.example/managed": text("A whole key.") },
    };
    const { problems } = readAnnotations(wide, toService({ annotations: { [key]: "x" } }));
    expect(problems).toEqual([
      expect.objectContaining({
        severity: "warning",
        key,
        text: expect.stringContaining(JSON.stringify(meant)),
      }),
    ]);
    const known = { [meant]: "x", "whole.acme.example/other": "x" };
    expect(readAnnotations(wide, toService({ annotations: known })).problems).toEqual([]);
  });

  test("accepts annotations that are read elsewhere", () => {
    const service = toService({ annotations: { "lb.acme.example/id": "7", "fairlead.dev/fact-id": "7" } });
    expect(readAnnotations({ ...table, factKeys: ["lb.acme.example/id"] }, service).problems).toEqual([]);
    expect(readAnnotations(table, service).problems).toHaveLength(1);
  });

  test("reports each problem once when the provider uses Fairlead's prefix", () => {
    const service = toService({ annotations: { "fairlead.dev/nonsense": "" } });
    const { problems } = readAnnotations({ prefix: "fairlead.dev/", fields }, service);
    expect(problems).toHaveLength(1);
  });

  test("reads how targets are chosen [F42 F43 F44]", () => {
    const { own } = read({
      "fairlead.dev/target-policy": "selector",
      "fairlead.dev/target-selector": "pool=web",
      "fairlead.dev/target-limit": "10",
    });
    expect(own.values).toMatchObject({ "target-policy": "selector", "target-limit": 10, paused: "false" });
    expect(own.values["target-selector"]?.matches({ pool: "web" })).toBe(true);
  });

  test("keeps the observed value of a setting whose required annotation is missing", () => {
    const required = { zone: text("Where.", { required: true }) };
    const { frozen, problems } = readAnnotations({ prefix, fields: required }, toService());
    expect([[...frozen], problems.map(({ reason }) => reason)]).toEqual([["zone"], ["MissingAnnotation"]]);
  });

  test("never throws and reports every unknown key under the provider's prefix", () => {
    const key = fc.string({ minLength: 1, maxLength: 12 }).map((name) => `${prefix}zz${name}`);
    fc.assert(
      fc.property(fc.dictionary(key, fc.string()), (annotations) => {
        const unknown = read(annotations).problems.map((problem) => problem.key);
        expect(unknown.toSorted()).toEqual(Object.keys(annotations).toSorted());
      }),
    );
  });
});

const base: Values<Fields> = {
  algorithm: "round-robin",
  "proxy-protocol": false,
  size: 1,
  network: undefined,
  type: "small",
  idle: seconds(60),
  tags: undefined,
};

describe("mergeObserved", () => {
  const observed: Partial<Values<Fields>> = { size: 9, algorithm: "least-connections" };

  test("keeps the cloud's value of an invalid setting, never the default [F47]", () => {
    expect(mergeObserved<Fields>(base, new Set(["size"]), observed)).toEqual({ ...base, size: 9 });
  });

  test("keeps all readable settings when an invalid setting cannot be read from the cloud", () => {
    const frozen = new Set(["size", "network"] as const);
    expect(mergeObserved<Fields>(base, frozen, observed)).toEqual({ ...base, ...observed });
    expect(unreadable<Fields>(frozen, observed)).toEqual(["network"]);
    expect(unreadable<Fields>(frozen, undefined)).toEqual(["size", "network"]);
  });

  test("keeps the desired settings if no annotation is invalid, or if no load balancer exists yet", () => {
    const none = new Set<keyof Fields>();
    fc.assert(
      fc.property(fc.integer(), (size) => {
        expect(mergeObserved<Fields>({ ...base, size }, none, observed)).toEqual({ ...base, size });
        expect(mergeObserved<Fields>({ ...base, size }, new Set(["size"]), undefined)).toEqual({
          ...base,
          size,
        });
      }),
    );
  });
});

describe("holdImmutable", () => {
  const hold = (annotations: Readonly<Record<string, string>>, observed?: Partial<Values<Fields>>) => {
    const { settings, problems } = holdImmutable(table, read(annotations), observed);
    return { settings, texts: problems.map(messageIn) };
  };

  test("keeps and reports the old value of an immutable setting", () => {
    const { settings, texts } = hold({ [`${prefix}network`]: "new" }, { network: "old" });
    expect(settings.network).toBe("old");
    expect(texts).toEqual([
      'lb.acme.example/network cannot be changed after the load balancer is created: it stays "old", not "new". Restore the old value, or recreate the Service.',
    ]);
  });

  test("keeps the cloud's value if the annotation is missing, so that a changed default has no effect", () => {
    const { settings, texts } = hold({}, { type: "large", network: "old", idle: seconds(5) });
    expect([settings.type, settings.network, settings.idle as number]).toEqual(["large", "old", 5000]);
    expect(texts).toEqual([]);
  });

  test("allows any value before a load balancer exists, and if the cloud does not report the setting", () => {
    for (const observed of [undefined, {}]) {
      const { settings, texts } = hold({ [`${prefix}network`]: "new" }, observed);
      expect([settings.network, texts]).toEqual(["new", []]);
    }
  });

  test("compares values by meaning and prints them readably", () => {
    const tags = new Map([
      ["b", "2"],
      ["a", "1"],
    ]);
    expect(hold({ [`${prefix}tags`]: "a=1,b=2" }, { tags }).texts).toEqual([]);
    expect(hold({ [`${prefix}tags`]: "a=2" }, { tags }).texts.join()).toContain(
      'it stays "b=2,a=1", not "a=2"',
    );
    expect(hold({ [`${prefix}idle`]: "1m" }, { idle: seconds(90) }).texts.join()).toContain(
      "stays 1m30s, not 1m",
    );
  });

  test("reports only the invalid value of an invalid annotation", () => {
    expect(hold({ [`${prefix}type`]: "huge" }, { type: "large" }).texts).toEqual([]);
  });
});

test("lists the first invalid source ranges, and counts the rest [N25]", () => {
  const spec = { loadBalancerSourceRanges: Array.from({ length: 100_000 }, (_, index) => `10.0.0.${index}`) };
  const { problems, ranges } = sourceRangesOf(toService({ spec }));
  expect(problems).toHaveLength(6);
  expect(problems[5]?.text).toBe(
    "spec.loadBalancerSourceRanges must be a list of address ranges such as 10.0.0.0/24, got 99995 more invalid ranges",
  );
  expect(ranges).toEqual([]);
});

test("rereads source ranges only when their text or their place in the Service has changed [N25]", () => {
  const known = new RememberedRanges();
  const owner = {};
  const texts = ["10.0.0.0/24", "10.1.0.0/24"];
  const service = (spec: object, annotations = {}) => toService({ spec, annotations });
  const first = known.of(service({ loadBalancerSourceRanges: texts }), owner);
  expect(known.of(service({ loadBalancerSourceRanges: [...texts], ports: [] }), owner)).toBe(first);
  expect(known.of(service({ loadBalancerSourceRanges: texts }), {})).not.toBe(first);
  const annotations = { "service.beta.kubernetes.io/load-balancer-source-ranges": texts.join() };
  const moved = known.of(service({}, annotations), owner);
  expect(moved).not.toBe(first);
  expect(moved).toEqual(first);
  const changed = known.of(service({ loadBalancerSourceRanges: ["10.0.0.0/24", "10.1.0.0/16"] }), owner);
  expect(changed.ranges as readonly string[]).toEqual(["10.0.0.0/24", "10.1.0.0/16"]);
  expect(known.of(service({}), owner)).toEqual(sourceRangesOf(service({})));
});

test("reads the annotation table no more often for 5,000 empty unknown annotations than for 100 [N25]", () => {
  const readsFor = (count: number): number => {
    let reads = 0;
    const counted = new Proxy(fields, {
      get: (target, name) => {
        reads += 1;
        return Reflect.get(target, name);
      },
    });
    const annotations = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`${prefix}unknown-${index}`, ""]),
    );
    readAnnotations({ prefix, fields: counted }, toService({ annotations }));
    return reads;
  };
  expect(readsFor(5000)).toBe(readsFor(100));
});

test("lists only the first annotations with a misspelled prefix [N25]", () => {
  const annotations = Object.fromEntries(
    Array.from({ length: 5000 }, (_, index) => [`lb.acme.exmaple${index % 10}/x${index}algorithm`, "x"]),
  );
  const near = Object.fromEntries(
    Array.from({ length: 26 }, (_, index) => [
      `lb.acme.exampl${"abcdfghijklmnopqrstuvwxyz0"[index]}/algorithm`,
      "x",
    ]),
  );
  expect(textsOf(annotations)).toEqual([]);
  expect(textsOf(near)).toHaveLength(10);
});
