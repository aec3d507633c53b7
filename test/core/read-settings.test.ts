// Settings: types inferred from the table, all problems reported at once, and never an exception.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Cidr, type Milliseconds, seconds } from "../../src/core/brand.ts";
import { cidr } from "../../src/core/cidr.ts";
import { formatDuration, parseDuration } from "../../src/core/duration.ts";
import { duration, flag, integer, oneOf, secret, text } from "../../src/core/fields.ts";
import { cidrList, list, pairs } from "../../src/core/list-fields.ts";
import { readSettings } from "../../src/core/read-settings.ts";
import { Secret } from "../../src/core/secret.ts";
import type { Values } from "../../src/core/settings.ts";
import { settingsReference } from "../../src/core/settings-reference.ts";

const fields = {
  algorithm: oneOf("How a target is picked.", ["round-robin", "least-connections"], {
    fallback: "round-robin",
  }),
  "proxy-protocol": flag("Send the PROXY header.", { fallback: false, renamedFrom: ["uses-proxyprotocol"] }),
  "check-interval": duration("Time between probes.", { min: seconds(1) }, { fallback: seconds(15) }),
  retries: integer("Probes | before.", { min: 1, max: 10 }),
  token: secret("The key to the API.", { required: true, env: "ACME_TOKEN" }),
  ranges: cidrList("Who may come in.", { fallback: [] }),
  tags: pairs("Put on everything."),
  names: list("Names."),
  region: text("Where.", { whenChanged: "reject" }),
};

type Exact<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(value: T): T => value;
type Read = Values<typeof fields>;

test("readSettings infers the exact type of every value", () => {
  expect(holds<Exact<Read["algorithm"], "round-robin" | "least-connections">>(true)).toBe(true);
  expect(holds<Exact<Read["proxy-protocol"], boolean>>(true)).toBe(true);
  expect(holds<Exact<Read["check-interval"], Milliseconds>>(true)).toBe(true);
  expect(holds<Exact<Read["retries"], number | undefined>>(true)).toBe(true);
  expect(holds<Exact<Read["token"], Secret>>(true)).toBe(true);
  expect(holds<Exact<Read["ranges"], readonly Cidr[]>>(true)).toBe(true);
  expect(holds<Exact<Read["names"], readonly string[] | undefined>>(true)).toBe(true);
});

const read = (raw: Record<string, string>) =>
  readSettings(fields, raw, { prefix: "lb.example/", what: "annotation" });
const complete = { "lb.example/token": "s3cr3t" };

test("readSettings parses every kind of value", () => {
  const { values, problems, frozen } = read({
    ...complete,
    "lb.example/algorithm": "least-connections",
    "lb.example/proxy-protocol": "T",
    "lb.example/check-interval": "1m30s",
    "lb.example/retries": "3",
    "lb.example/ranges": "010.0.0.1/8, ,2001:db8::/32",
    "lb.example/tags": "a=1,b=x=y",
    "lb.example/names": "a, b",
    "lb.example/region": " north ",
    "other.example/algorithm": "foreign",
  });
  expect(problems).toEqual([]);
  expect(frozen.size).toBe(0);
  expect(values).toEqual({
    algorithm: "least-connections",
    "proxy-protocol": true,
    "check-interval": seconds(90),
    retries: 3,
    token: values.token,
    ranges: [cidr("10.0.0.0/8"), cidr("2001:db8::/32")],
    tags: new Map([
      ["a", "1"],
      ["b", "x=y"],
    ]),
    names: ["a", "b"],
    region: "north",
  } as unknown as Read);
  expect(values.token.reveal()).toBe("s3cr3t");
});

test("readSettings uses the default of an unset setting", () => {
  const { values, problems } = read(complete);
  expect(problems).toEqual([]);
  expect([values.algorithm, values["proxy-protocol"], values.retries]).toEqual([
    "round-robin",
    false,
    undefined,
  ]);
});

test("readSettings reports all problems together, with suggestions for typos", () => {
  const { problems, frozen } = read({
    "lb.example/algorithm": "round-robbin",
    "lb.example/uses-proxyprotocol": "true",
    "lb.example/heck-interval": "5s",
    "lb.example/retries": "11",
    "lb.example/ranges": "10.0.0.0/8,everyone",
    "lb.example/color": "blue",
  });
  expect(problems.map(({ severity, reason, text: words }) => `${severity} ${reason}: ${words}`)).toEqual([
    'error InvalidAnnotation: lb.example/algorithm must be one of round-robin, least-connections, got "round-robbin"; did you mean "round-robin"?',
    "warning RenamedAnnotation: lb.example/uses-proxyprotocol was renamed to lb.example/proxy-protocol; use the new name",
    'error InvalidAnnotation: lb.example/retries must be a whole number from 1 to 10, got "11"',
    "error MissingAnnotation: lb.example/token (environment variable ACME_TOKEN) is required but not set; it must be a non-empty secret",
    'error InvalidAnnotation: lb.example/ranges must be a comma-separated list of CIDRs such as 10.0.0.0/8, got "everyone"',
    'warning UnknownAnnotation: lb.example/heck-interval is not a known annotation; did you mean "lb.example/check-interval"?',
    "warning UnknownAnnotation: lb.example/color is not a known annotation",
  ]);
  expect([...frozen]).toEqual(["algorithm", "retries", "ranges"]);
});

test("readSettings prefers the new name when both names are set", () => {
  const { values, problems } = read({
    ...complete,
    "lb.example/uses-proxyprotocol": "true",
    "lb.example/proxy-protocol": "false",
  });
  expect(values["proxy-protocol"]).toBe(false);
  expect(problems[0]?.text).toBe(
    "lb.example/uses-proxyprotocol was renamed to lb.example/proxy-protocol; both are set and lb.example/proxy-protocol takes precedence, so remove lb.example/uses-proxyprotocol",
  );
});

test("readSettings does not throw for any input, or for a field that throws", () => {
  const broken = {
    ...fields,
    bad: {
      text: "Bad.",
      expects: "good",
      parse: (raw: string): { readonly value: string } => {
        throw new Error(raw);
      },
    },
  };
  const key = fc.oneof(fc.constantFrom(...Object.keys(broken), "__proto__", "constructor"), fc.string());
  const raw = fc.dictionary(key, fc.oneof(fc.string(), fc.constantFrom("true", "1", "10.0.0.0/8", "5s")));
  fc.assert(
    fc.property(raw, fc.constantFrom("", "lb.example/", "_"), (written, prefix) => {
      const { problems } = readSettings(broken, written, { prefix, what: "setting" });
      for (const { text: words, reason } of problems) {
        expect(words.length).toBeLessThan(1000);
        expect(reason).toMatch(/^[A-Z][A-Za-z]+$/);
      }
    }),
  );
});

test("readSettings never shows an invalid secret", () => {
  const one = { token: secret("Key.", { required: true }) };
  const { problems, values } = readSettings(one, { token: "  " }, { what: "setting" });
  expect(problems[0]?.text).toBe("token must be a non-empty secret, got an empty string");
  expect(values.token).toBeUndefined();
});

test.each([
  ["0", 0],
  ["15s", 15_000],
  ["1h30m", 5_400_000],
  ["1.5s", 1500],
  [".5s", 500],
  ["-1m", -60_000],
  ["300ms", 300],
  ["15", undefined],
  ["", undefined],
  ["s", undefined],
  ["1d", undefined],
])("parseDuration parses %p as %p", (written, expected) => {
  expect<number | undefined>(parseDuration(written)).toBe(expected);
});

test("formatDuration formats durations so that they parse to the same value", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 1e9 }), (amount) => {
      expect<number | undefined>(parseDuration(formatDuration(amount as Milliseconds))).toBe(amount);
    }),
  );
});

test.each([
  [989.0803879999949, "989ms"],
  [0.2, "1ms"],
  [59_999.6, "1m"],
])("formatDuration rounds the measured time of %p ms to %p", (measured, expected) => {
  expect(formatDuration(measured as Milliseconds)).toBe(expected);
});

test("settingsReference prints the reference page from the table", () => {
  const page = settingsReference(fields, "lb.example/");
  expect(page).toContain(
    "| `lb.example/proxy-protocol` | Send the PROXY header. Formerly `uses-proxyprotocol`. | true or false | `false` |",
  );
  expect(page).toContain(
    "| `lb.example/check-interval` | Time between probes. | a duration such as 15s or 1h30m of at least 1s | `15s` |",
  );
  expect(page).toContain(
    "| `lb.example/token` | The key to the API. Environment: `ACME_TOKEN`. | a non-empty secret | required |",
  );
  expect(page).toContain("Probes \\| before.");
  expect(page).toContain("| Where. Cannot be changed later. |".replace("| ", ""));
  expect(settingsReference({ key: secret("Key.", { fallback: new Secret("hidden") }) })).not.toContain(
    "hidden",
  );
});

test("readSettings treats a name with a slash as a complete key", () => {
  const one = { "old.example/name": text("Old place."), size: text("Size.") };
  const raw = { "old.example/name": "a", "new.example/siz": "b" };
  const { values, problems } = readSettings(one, raw, { prefix: "new.example/", what: "annotation" });
  expect(values["old.example/name"]).toBe("a");
  expect(problems.map(({ text: words }) => words)).toEqual([
    'new.example/siz is not a known annotation; did you mean "new.example/size"?',
  ]);
});
