import { expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { text } from "../../../src/core/fields.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// How flags are read: refused before the start, or applied.

const errorsOf = (...args: readonly string[]) =>
  readFlags(args).problems.filter(({ severity }) => severity === "error");

test("--controllers refuses an unknown controller and accepts Fairlead's and upstream's names", () => {
  expect(
    errorsOf("--controllers=*,-nonsense")
      .map(({ text }) => text)
      .join(),
  ).toContain("nonsense");
  expect(errorsOf("--controllers=*,-service-lb-controller,-cloud-node-lifecycle-controller")).toEqual([]);
});

test.each([
  ["-nod", "did you mean -cloud-node or -cloud-node-lifecycle or -node-route?"],
  ["nodes", "did you mean cloud-node or cloud-node-lifecycle or node-route?"],
  ["-rout", "did you mean -route?"],
  ["tagging", "controllers: cloud-node, cloud-node-lifecycle, service, node-route"],
])("--controllers=%s is refused with the names that it may stand for", (word, hint) => {
  expect(errorsOf(`--controllers=*,${word}`).map(({ text }) => text)).toEqual([
    `--controllers contains the unknown controller ${JSON.stringify(word)}; ${hint}`,
  ]);
});

test("a controller that is disabled by upstream's name does nothing", async () => {
  const w = new ServiceWorld();
  await w.start("--controllers=*,-service-lb-controller,-cloud-node,-cloud-node-lifecycle");
  w.create("web");
  await w.pass(60);
  expect(w.owners()).toEqual([]);
  await w.stop();
});

test("explicit flags take precedence over the upstream profile", () => {
  const { lifecycle } = readFlags(["--compatibility=upstream"]);
  expect(lifecycle.proofs).toBe(1);
  const mixed = readFlags([
    "--compatibility=upstream",
    "--node-deletion-proofs=2",
    "--node-deletion-min-age=10m",
  ]).lifecycle;
  expect(mixed.proofs).toBe(2);
  expect(Number(mixed.minAgeWithoutID)).toBe(600_000);
  expect(mixed.massLimit).toEqual(lifecycle.massLimit);
});

test("a Lease duration below its deadlines is refused with the flag's name", () => {
  const [problem] = errorsOf("--leader-elect-lease-duration=5s");
  expect(problem?.key).toBe("--leader-elect-lease-duration");
  expect(errorsOf("--leader-elect-lease-duration=60s")).toEqual([]);
});

test("the command line takes precedence over the file, under a former name too", () => {
  const formatOf = (inFile: Readonly<Record<string, string>>, ...args: readonly string[]) => {
    const file = { path: "fairlead.yaml", flags: { raw: inFile, places: new Map() } };
    return readFlags(args, { file }).flags["logging-format"];
  };
  expect(formatOf({ "logging-format": "json" }, "--log-format=text")).toBe("text");
  expect(formatOf({ "log-format": "json" }, "--logging-format=text")).toBe("text");
  expect(formatOf({ "log-format": "json" }, "--log-format=text")).toBe("text");
  expect(formatOf({ "log-format": "json" })).toBe("json");
});

test("the former name of a cloud setting is not a flag", () => {
  const token = { ...text("A token."), flag: "cloud-token", renamedFrom: ["api-token"] };
  const { problems, cloud } = readFlags(["--api-token=x"], { provider: { config: { token } } });
  expect(problems.map(({ reason }) => reason)).toEqual(["UnknownFlag"]);
  expect(cloud.given.get("token")).toBeUndefined();
});

test("a removed flag is refused with its replacement, an unknown one with the nearest name", () => {
  const textOf = (flag: string) => errorsOf(flag)[0]?.text;
  expect(textOf("--logtostderr")).toBe(
    "unknown flag --logtostderr; Kubernetes 1.26 removed the klog flags; omit it, logs go to stderr",
  );
  expect(textOf("--port=0")).toContain("use --secure-port");
  expect(textOf("--secure-prot=1")).toContain("did you mean --secure-port?");
});
