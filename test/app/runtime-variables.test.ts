import { expect, test } from "bun:test";
import { runtimeVariables } from "../../src/app/runtime-variables.ts";

test("a usual environment is left as it is", () => {
  expect(runtimeVariables({ PATH: "/bin", HTTPS_PROXY: "http://proxy:3128" })).toEqual({
    forget: [],
    problems: [],
  });
});

test("what would weaken or print is forgotten, with a word", () => {
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

test("verification that is asked for is not worth a word; requests that are to be printed are", () => {
  expect(runtimeVariables({ NODE_TLS_REJECT_UNAUTHORIZED: "1" }).problems).toEqual([]);
  expect(runtimeVariables({ BUN_CONFIG_VERBOSE_FETCH: "1" }).problems).toHaveLength(1);
});

test("what runs other code or lets others in is refused by name", () => {
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
