import { expect, test } from "bun:test";
import { runsForLong } from "../../../src/app/commands/command-line.ts";

test.each([
  { args: [], expected: true },
  { args: ["--kubeconfig", "/etc/kubeconfig", "-v=2"], expected: true },
  { args: ["run", "--mode=observe"], expected: true },
  { args: ["csi-controller"], expected: true },
  { args: ["explain", "node", "node-1"], expected: false },
  { args: ["--kubeconfig=x", "plan"], expected: false },
  { args: ["--help"], expected: false },
  { args: ["--version"], expected: false },
])("whether the command line $args runs until it is stopped: $expected", ({ args, expected }) => {
  expect(runsForLong(args)).toBe(expected);
});
