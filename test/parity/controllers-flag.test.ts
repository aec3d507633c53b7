import { describe, expect, test } from "bun:test";
import { chooseControllers, controllerNamed } from "../../src/app/flags/controller-names.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";

// Rows of upstream's tests of controller names and --controllers. Fairlead's controllers replace upstream's made-up
// names (alpha, red-controller), because the known names are not a parameter.

const upstreamNames = [
  "cloud-node-controller",
  "cloud-node-lifecycle-controller",
  "service-lb-controller",
  "node-route-controller",
];

test("TestCloudControllerNamesDeclaration: every upstream name is known and well-formed", () => {
  for (const name of upstreamNames) {
    expect(name).toMatch(/^[a-z]([-a-z]*[a-z])?$/);
    expect(name).toEndWith("-controller");
    expect(controllerNamed(name)).toBeDefined();
  }
});

describe("TestIsControllerEnabled", () => {
  const enabled = (...names: string[]) => [...chooseControllers(names).enabled].toSorted() as string[];
  const all = ["cloud-node", "cloud-node-lifecycle", "node-route", "service"];

  test("TestIsControllerEnabled 1-3: enables a named controller, and disables a controller that is excluded or not named", () => {
    expect(enabled("cloud-node-controller", "service-lb-controller", "-node-route-controller")).toEqual([
      "cloud-node",
      "service",
    ]);
  });
  test("TestIsControllerEnabled 4-5: the star enables all, and no controller is off by default", () => {
    expect(enabled("*")).toEqual(all);
  });
  test("TestIsControllerEnabled 6-7: the star enables all but a controller named with a minus", () => {
    expect(enabled("*", "-service-lb-controller")).toEqual(all.filter((name) => name !== "service"));
  });
});

describe("TestCloudControllerManagerAliases", () => {
  test("TestCloudControllerManagerAliases: every alias is accepted, even with a minus, and contradictions are allowed", () => {
    const { enabled, problems } = chooseControllers([
      "service-controller",
      "-service",
      "route",
      "-cloud-node-lifecycle-controller",
    ]);
    // In upstream the first mention wins. In Fairlead a minus wins in any position. See docs/differences.md.
    expect([problems, [...enabled] as string[]]).toEqual([[], ["node-route"]]);
  });
});

describe("TestValidateGenericControllerManagerConfigurationOptions", () => {
  const problemsOf = (...names: string[]) => chooseControllers(names).problems.map(({ text }) => text);
  test.each([
    [[]],
    [["*"]],
    [["service-lb-controller"]],
    [["*", "-service-lb-controller", "node-route-controller"]],
    [["route", "-service"]],
  ])("TestValidateGenericControllerManagerConfigurationOptions: accepts %j", (names) => {
    expect(problemsOf(...names)).toEqual([]);
  });
  test("TestValidateGenericControllerManagerConfigurationOptions: an unknown controller is reported as written", () => {
    expect(problemsOf("route", "grey-controller")).toEqual([
      expect.stringContaining('--controllers contains the unknown controller "grey-controller"'),
    ]);
  });
  test("TestValidateGenericControllerManagerConfigurationOptions: any resource lock but leases is rejected", () => {
    const { problems } = readFlags(["--leader-elect=true", "--leader-elect-resource-lock=configmapsleases"]);
    expect(problems.map(({ text }) => text).join()).toContain(
      "--leader-elect-resource-lock must be one of leases",
    );
  });
});

describe("TestNodeControllerValidation", () => {
  const errorsOf = (...args: string[]) =>
    readFlags(args).problems.flatMap(({ severity, text }) => (severity === "error" ? [text] : []));
  test.each(["-5", "0"])("TestNodeControllerValidation: %s workers are rejected at the start", (count) => {
    expect(errorsOf(`--concurrent-node-syncs=${count}`).join()).toContain("--concurrent-node-syncs");
  });
  test.each(["5", "1"])("TestNodeControllerValidation: %s workers are accepted", (count) => {
    expect(errorsOf(`--concurrent-node-syncs=${count}`, "--concurrent-node-status-updates=5")).toEqual([]);
  });
});
