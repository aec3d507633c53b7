// What the parser of the Go managers' files says about a word that stands alone: it may be the secret of the line before.

import { expect, test } from "bun:test";
import { readGcfg, secret, text } from "../../src/index.ts";

const options = {
  sections: { Global: { password: secret("The password."), region: text("The region.") } },
  records: [{ section: "Zone", setting: "zones", entry: { name: text("Its name.") } }],
  nameOf: (key: string) => key,
  example: "region = north",
};

function problemsIn(lines: readonly string[], isLenient: boolean): readonly string[] {
  const { problems } = readGcfg(lines.join("\n"), {
    ...options,
    ...(isLenient && { ignoresUnknown: true as const }),
  });
  return problems.map(({ line, severity, text }) => `${line} ${severity}: ${text}`);
}

const lines = ["s3cret", "[Global]", "password", "s3cret", '[Zone "a"]', "s3cret", "region"];
const example = "expected a line such as region = north";

test("shows a word without = only if it is a known key", () => {
  expect(problemsIn(lines, false)).toEqual([
    "1 error: a word without a value must be in a section such as [Global]",
    `3 error: password has no value; ${example}`,
    `4 error: a word without a value has no value; ${example}`,
    `6 error: a word without a value has no value; ${example}`,
    `7 error: region has no value; ${example}`,
  ]);
});

test("shows a word without = only if it is a known key where the Go manager ignores others", () => {
  expect(problemsIn([...lines, "nam"], true)).toEqual([
    "1 error: a word without a value must be in a section such as [Global]",
    `3 error: password has no value; ${example}`,
    "4 warning: a word without a value in [Global] is not a known setting, so it has no effect",
    '6 warning: a word without a value in [Zone "a"] is not a known setting, so it has no effect',
    '7 error: region in [Zone "a"] has no effect, because it belongs in [Global]',
    '8 error: a word without a value in [Zone "a"] is not a known setting, so it has no effect; did you mean "name"?',
  ]);
});

test("shows no last line of a wrapped secret, which ends in =", () => {
  for (const last of ["czNjcmV0cGFzc3dvcmQ=", "czNjcmV0cGFzc3dvcg=="]) {
    const found = [true, false].map((isLenient) =>
      problemsIn(["[Global]", "password = abc", last], isLenient).join(),
    );
    expect(found.join()).toContain("a word without a value");
    expect(found.join()).not.toContain("czNjcmV0");
  }
});
