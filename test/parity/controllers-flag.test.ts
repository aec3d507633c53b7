import { describe, expect, test } from "bun:test";
import { chooseControllers, controllerNamed } from "../../src/app/flags/controller-names.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";

// Rows of upstream's test catalogue, 9.8, 9.10 and 9.14: names of controllers and --controllers. Upstream's made-up names
// (alpha, red-controller) stand for ours here, since the known ones are no parameter.

const upstreamNames = [
  "cloud-node-controller",
  "cloud-node-lifecycle-controller",
  "service-lb-controller",
  "node-route-controller",
];

test("TestCloudControllerNamesDeclaration: every name of upstream's is known, in its form", () => {
  for (const name of upstreamNames) {
    expect(name).toMatch(/^[a-z]([-a-z]*[a-z])?$/);
    expect(name).toEndWith("-controller");
    expect(controllerNamed(name)).toBeDefined();
  }
});

describe("TestIsControllerEnabled", () => {
  const enabled = (...words: string[]) => [...chooseControllers(words).enabled].toSorted() as string[];
  const all = ["cloud-node", "cloud-node-lifecycle", "node-route", "service"];

  test("TestIsControllerEnabled 1-3: named is on, named with a minus is off, not named is off", () => {
    expect(enabled("cloud-node-controller", "service-lb-controller", "-node-route-controller")).toEqual([
      "cloud-node",
      "service",
    ]);
  });
  test("TestIsControllerEnabled 4-5: the star is all; none of ours is off by default", () => {
    expect(enabled("*")).toEqual(all);
  });
  test("TestIsControllerEnabled 6-7: the star without one", () => {
    expect(enabled("*", "-service-lb-controller")).toEqual(all.filter((name) => name !== "service"));
  });
});

describe("TestCloudControllerManagerAliases", () => {
  test("TestCloudControllerManagerAliases: every alias is accepted, also against; contradictions stay allowed", () => {
    const { enabled, problems } = chooseControllers([
      "service-controller",
      "-service",
      "route",
      "-cloud-node-lifecycle-controller",
    ]);
    // Upstream lets the first mention win; with us a minus does, wherever it stands. See docs/differences.md.
    expect([problems, [...enabled] as string[]]).toEqual([[], ["node-route"]]);
  });
});

describe("TestValidateGenericControllerManagerConfigurationOptions", () => {
  const problemsOf = (...words: string[]) => chooseControllers(words).problems.map(({ text }) => text);
  test.each([
    [[]],
    [["*"]],
    [["service-lb-controller"]],
    [["*", "-service-lb-controller", "node-route-controller"]],
    [["route", "-service"]],
  ])("TestValidateGenericControllerManagerConfigurationOptions: %j is right", (words) => {
    expect(problemsOf(...words)).toEqual([]);
  });
  test("TestValidateGenericControllerManagerConfigurationOptions: an unknown one is named as it was written", () => {
    expect(problemsOf("route", "grey-controller")).toEqual([
      expect.stringContaining('--controllers contains the unknown controller "grey-controller"'),
    ]);
  });
  test("TestValidateGenericControllerManagerConfigurationOptions: another lock than leases is refused", () => {
    const { problems } = readFlags(["--leader-elect=true", "--leader-elect-resource-lock=configmapsleases"]);
    expect(problems.map(({ text }) => text).join()).toContain(
      "--leader-elect-resource-lock must be one of leases",
    );
  });
});

describe("TestNodeControllerValidation", () => {
  const errorsOf = (...args: string[]) =>
    readFlags(args).problems.flatMap(({ severity, text }) => (severity === "error" ? [text] : []));
  test.each(["-5", "0"])("TestNodeControllerValidation: %s workers are refused, at the start", (count) => {
    expect(errorsOf(`--concurrent-node-syncs=${count}`).join()).toContain("--concurrent-node-syncs");
  });
  test.each(["5", "1"])("TestNodeControllerValidation: %s workers are right", (count) => {
    expect(errorsOf(`--concurrent-node-syncs=${count}`, "--concurrent-node-status-updates=5")).toEqual([]);
  });
});
