import { expect, test } from "bun:test";
import { runtimeVariables } from "../../src/app/runtime-variables.ts";

test("runtimeVariables keeps harmless environment variables", () => {
  expect(runtimeVariables({ PATH: "/bin", HTTPS_PROXY: "http://proxy:3128" })).toEqual({
    forget: [],
    problems: [],
  });
});

test("runtimeVariables drops variables that weaken TLS or print requests, with a warning", () => {
  const { forget, problems } = runtimeVariables({
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    BUN_CONFIG_VERBOSE_FETCH: "curl",
  });
  expect(forget).toEqual(["NODE_TLS_REJECT_UNAUTHORIZED", "BUN_CONFIG_VERBOSE_FETCH"]);
  expect(problems.map(({ severity, key }) => [severity, key])).toEqual([
    ["warning", "NODE_TLS_REJECT_UNAUTHORIZED"],
    ["warning", "BUN_CONFIG_VERBOSE_FETCH"],
  ]);
});

test("runtimeVariables logs nothing when TLS verification is enabled, and warns when requests are printed", () => {
  expect(runtimeVariables({ NODE_TLS_REJECT_UNAUTHORIZED: "1" }).problems).toEqual([]);
  expect(runtimeVariables({ BUN_CONFIG_VERBOSE_FETCH: "1" }).problems).toHaveLength(1);
});

test("runtimeVariables rejects variables that run other code or open a debugger", () => {
  const { problems } = runtimeVariables({
    BUN_OPTIONS: "--preload x",
    BUN_INSPECT: "9229",
    BUN_INSPECT_NOTIFY: "",
  });
  expect(problems.map(({ severity, key }) => [severity, key])).toEqual([
    ["error", "BUN_OPTIONS"],
    ["error", "BUN_INSPECT"],
  ]);
});
