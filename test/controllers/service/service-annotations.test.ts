import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  mergeObserved,
  readAnnotations,
  readsAnnotation,
  unreadable,
} from "../../../src/controllers/service/annotations/annotations.ts";
import { holdImmutable } from "../../../src/controllers/service/desired/immutable-settings.ts";
import { seconds } from "../../../src/core/brand.ts";
import { duration, flag, integer, oneOf, text } from "../../../src/core/fields.ts";
import { pairs } from "../../../src/core/list-fields.ts";
import type { Values } from "../../../src/core/settings.ts";
import { toService } from "./service-draft.ts";

const fields = {
  algorithm: oneOf("How.", ["round-robin", "least-connections"], { fallback: "round-robin" }),
  "proxy-protocol": flag("The header.", { fallback: false, renamedFrom: ["uses-proxyprotocol"] }),
  size: integer("Its size.", { min: 1 }, { fallback: 1 }),
  network: text("Where.", { whenChanged: "reject" }),
  type: oneOf("Its type.", ["small", "large"], { fallback: "small", whenChanged: "recreate" }),
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

describe("annotations [F47 F49 N2]", () => {
  test("are read with their fallbacks, and those of others are nobody's business", () => {
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
      "a name with a typo",
      { "lb.acme.example/algoritm": "round-robin" },
      'warning UnknownAnnotation: lb.acme.example/algoritm is not a known annotation; did you mean "lb.acme.example/algorithm"?',
    ],
    [
      "a value with a typo",
      { "lb.acme.example/algorithm": "round-robbin" },
      'error InvalidAnnotation: lb.acme.example/algorithm must be one of round-robin, least-connections, got "round-robbin"; did you mean "round-robin"?',
    ],
    [
      "a former name",
      { "lb.acme.example/uses-proxyprotocol": "true" },
      "warning RenamedAnnotation: lb.acme.example/uses-proxyprotocol was renamed to lb.acme.example/proxy-protocol; use the new name",
    ],
    [
      "a known name behind a prefix with a typo",
      { "lb.acme.exmaple/algorithm": "round-robin" },
      'warning UnknownAnnotation: lb.acme.exmaple/algorithm is not a known annotation; did you mean "lb.acme.example/algorithm"?',
    ],
    [
      "ours with a typo",
      { "fairlead.dev/pasued": "true" },
      'warning UnknownAnnotation: fairlead.dev/pasued is not a known annotation; did you mean "fairlead.dev/paused"?',
    ],
    [
      "ours with another value",
      { "fairlead.dev/paused": "yes" },
      'error InvalidAnnotation: fairlead.dev/paused must be one of true, false, got "yes"',
    ],
    [
      "a selector that cannot be read [F42]",
      { "fairlead.dev/target-selector": "pool in (web" },
      'error InvalidAnnotation: fairlead.dev/target-selector must be a label selector such as "pool=web,tier!=test" or "pool in (web, api)", got "pool in (web"',
    ],
  ];
  test.each(cases)("%s", (_, annotations, expected) => {
    expect(textsOf(annotations)).toEqual([expected]);
  });

  test("a prefix that is far from ours is somebody else's", () => {
    expect(
      textsOf({ "other.example/algorithm": "x", algorithm: "x", "lb.acme.example.org/size": "x" }),
    ).toEqual([]);
  });

  test("Kubernetes' own is not unknown under a prefix that it shares with a provider [F30]", () => {
    const annotations = { "service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8" };
    const shared = { prefix: "service.beta.kubernetes.io/", fields };
    expect(readAnnotations(shared, toService({ annotations })).problems).toEqual([]);
  });

  test("a change of those that are read matters, and of no other", () => {
    const odd = {
      ...fields,
      "whole.example/key": text("A whole key.", { renamedFrom: ["old.example/key"] }),
    };
    const reads = readsAnnotation({ prefix, fields: odd }, (key) => key === "elsewhere.example/id");
    const ours = ["lb.acme.example/size", "lb.acme.example/typo", "fairlead.dev/paused", "whole.example/key"];
    const more = ["old.example/key", "elsewhere.example/id"];
    const ranges = "service.beta.kubernetes.io/load-balancer-source-ranges";
    expect([...ours, ...more, ranges].filter((key) => !reads(key))).toEqual([]);
    expect(["kubectl.example/x", "size", "whole.example/other"].filter(reads)).toEqual([]);
  });

  test("a former name counts as written", () => {
    expect([...read({ "lb.acme.example/uses-proxyprotocol": "true" }).written]).toEqual(["proxy-protocol"]);
  });

  test("what is read elsewhere is not unknown", () => {
    const service = toService({ annotations: { "lb.acme.example/id": "7", "fairlead.dev/fact-id": "7" } });
    const isReadElsewhere = (key: string) => /\/(fact-)?id$/.test(key);
    expect(readAnnotations(table, service, { isReadElsewhere }).problems).toEqual([]);
    expect(readAnnotations(table, service).problems).toHaveLength(2);
  });

  test("a provider under our own prefix gets each complaint once", () => {
    const service = toService({ annotations: { "fairlead.dev/nonsense": "" } });
    const { problems } = readAnnotations({ prefix: "fairlead.dev/", fields }, service);
    expect(problems).toHaveLength(1);
  });

  test("how targets are chosen [F42 F43 F44]", () => {
    const { own } = read({
      "fairlead.dev/target-policy": "selector",
      "fairlead.dev/target-selector": "pool=web",
      "fairlead.dev/target-limit": "10",
    });
    expect(own.values).toMatchObject({ "target-policy": "selector", "target-limit": 10, paused: "false" });
    expect(own.values["target-selector"]?.matches({ pool: "web" })).toBe(true);
  });

  test("one that must be there and is not is frozen too", () => {
    const required = { zone: text("Where.", { required: true }) };
    const { frozen, problems } = readAnnotations({ prefix, fields: required }, toService());
    expect([[...frozen], problems.map(({ reason }) => reason)]).toEqual([["zone"], ["MissingAnnotation"]]);
  });

  test("never throws, and complains about every key of ours that is not known", () => {
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

describe("a wrong annotation freezes what it governs", () => {
  const observed: Partial<Values<Fields>> = { size: 9, algorithm: "least-connections" };

  test("at what the cloud has, never at the fallback [F47]", () => {
    expect(mergeObserved<Fields>(base, new Set(["size"]), observed)).toEqual({ ...base, size: 9 });
  });

  test("and all that can be read back, where it cannot be itself", () => {
    const frozen = new Set(["size", "network"] as const);
    expect(mergeObserved<Fields>(base, frozen, observed)).toEqual({ ...base, ...observed });
    expect(unreadable<Fields>(frozen, observed)).toEqual(["network"]);
    expect(unreadable<Fields>(frozen, undefined)).toEqual(["size", "network"]);
  });

  test("nothing is frozen by nothing, and nothing is there before the first balancer", () => {
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

describe("what cannot be changed later", () => {
  const hold = (annotations: Readonly<Record<string, string>>, observed?: Partial<Values<Fields>>) => {
    const { settings, problems, recreate } = holdImmutable(table, read(annotations), observed);
    return { settings, texts: problems.map((problem) => problem.text), recreate };
  };

  test("is refused with the old value, which stays", () => {
    const { settings, texts, recreate } = hold({ [`${prefix}network`]: "new" }, { network: "old" });
    expect(settings.network).toBe("old");
    expect(texts).toEqual([
      'lb.acme.example/network cannot be changed after the load balancer was made: it stays "old", not "new". Write the old value again, or make the Service anew.',
    ]);
    expect(recreate).toEqual([]);
  });

  test("is wished for again, where the table says so", () => {
    const { settings, texts, recreate } = hold({ [`${prefix}type`]: "large" }, { type: "small" });
    expect([settings.type, texts, recreate]).toEqual(["large", [], ["type"]]);
  });

  test("is no wish when nobody wrote it: a default that changed leaves balancers alone", () => {
    const { settings, texts, recreate } = hold({}, { type: "large", network: "old", idle: seconds(5) });
    expect([settings.type, settings.network, settings.idle as number]).toEqual(["large", "old", 5000]);
    expect([texts, recreate]).toEqual([[], []]);
  });

  test("is no matter before there is a balancer, nor where the cloud does not show it", () => {
    for (const observed of [undefined, {}]) {
      const { settings, texts, recreate } = hold({ [`${prefix}network`]: "new" }, observed);
      expect([settings.network, texts, recreate]).toEqual(["new", [], []]);
    }
  });

  test("is compared by meaning, and told in words", () => {
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

  test("leaves to its wrong annotation what is wrong", () => {
    expect(hold({ [`${prefix}type`]: "huge" }, { type: "large" }).recreate).toEqual([]);
  });
});
